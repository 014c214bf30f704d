package recording

import (
	"database/sql"
	"slices"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const processColumns = "p.process, " + identityColumns + `,
	p.parent, p.uid, p.user, p.name, p.command, p.job_kind, p.job_id, p.job_step, p.job_namespace, p.job_container, p.job_account, p.type, p.runtime, p.runtime_version, p.started_ns, p.used_bytes, p.peak_bytes,
	p.ended_ns, p.exit_status, p.out_of_memory_count, (SELECT gpu_index FROM gpus WHERE gpu = p.gpu)`

// described is a row as the table processes has it.
type described struct {
	id int64
	snapshot.EndedProcess
}

// scanProcess reads processColumns and the columns after them.
func scanProcess(rows *sql.Rows, more ...any) (out described, err error) {
	var command string
	p := &out.Last
	err = rows.Scan(slices.Concat([]any{&out.id}, identity(&p.ID), []any{
		integer(&p.Parent), known(&p.UID, quantity.System), word(&p.User), word(&p.Name), word(&command),
		word(&p.Job.Kind), word(&p.Job.ID), word(&p.Job.Step), word(&p.Job.Namespace), word(&p.Job.Container), word(&p.Job.Account),
		word(&p.Type), word(&p.Runtime), word(&p.RuntimeVersion), at(&p.Started), known(&p.Used, quantity.Driver), computed(&p.Peak),
		at(&out.Ended), known(&out.ExitStatus, quantity.System), known(&out.OutOfMemoryCount, quantity.Probe), integer(&p.GPU)}, more)...)
	if command != "" {
		p.Command = strings.Fields(command)
	}
	return out, err
}

func (d *dayReader) processes() (map[int64]*ProcessRow, error) {
	all := make(map[int64]*ProcessRow)
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		var row ProcessRow
		p, err := scanProcess(rows, at(&row.First), at(&row.Last), known(&row.AllocRetries, quantity.Probe))
		row.Process, row.Ended, row.OutOfMemoryCount = p.Last, p.Ended, p.OutOfMemoryCount
		all[p.id] = &row
		return err
	}, "SELECT "+processColumns+", p.first_ns, p.last_ns, p.alloc_retries FROM processes p")
	return all, err
}

func (d *dayReader) identities() (map[int64]snapshot.RowID, error) {
	return keyed(d, identity, "SELECT p.process, "+identityColumns+" FROM processes p")
}

func (d *dayReader) uuids() (map[int64]string, error) {
	return keyed(d, func(uuid *string) []any { return []any{uuid} }, "SELECT gpu, uuid FROM gpus")
}

// keyed collects the rows of a query by its first column.
func keyed[T any](d *dayReader, columns func(*T) []any, query string) (map[int64]T, error) {
	all := make(map[int64]T)
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		var key int64
		var row T
		err := rows.Scan(append([]any{&key}, columns(&row)...)...)
		all[key] = row
		return err
	}, query)
	return all, err
}

// alertsAt returns the alerts that were active at a moment, worst first.
func (d *dayReader) alertsAt(t int64) []snapshot.Alert {
	var alerts []snapshot.Alert
	d.each(collect(&alerts, func(a *snapshot.Alert) []any {
		return slices.Concat(identity(&a.Row), instance(&a.Instance), []any{at(&a.Since), word(&a.Kind), integer(&a.Severity),
			word(&a.GPUUUID), integer(&a.GPU), word(&a.Note), word(&a.Message), word(&a.Advice)})
	}), `SELECT `+identityColumns+`, a.mig_gpu, a.mig_compute, a.since_ns, a.kind, a.severity, g.uuid, g.gpu_index, a.note, a.message, a.advice
		FROM alerts a LEFT JOIN gpus g ON g.gpu = a.gpu LEFT JOIN processes p ON p.process = a.process
		WHERE a.from_ns <= ? AND (a.to_ns IS NULL OR a.to_ns > ?) ORDER BY a.severity DESC, a.alert`, t, t)
	return alerts
}
