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
	p.first_ns, p.last_ns, p.ended_ns, p.exit_status, p.out_of_memory_count, p.alloc_retries, (SELECT gpu_index FROM gpus WHERE gpu = p.gpu)`

// scanProcess reads processColumns, followed by more.
func scanProcess(rows *sql.Rows, p *ProcessRow, more ...any) error {
	var command string
	err := rows.Scan(slices.Concat([]any{&p.key}, identity(&p.ID), []any{
		integer(&p.Parent), known(&p.UID, quantity.System), word(&p.User), word(&p.Name), word(&command),
		word(&p.Job.Kind), word(&p.Job.ID), word(&p.Job.Step), word(&p.Job.Namespace), word(&p.Job.Container), word(&p.Job.Account),
		word(&p.Type), word(&p.Runtime), word(&p.RuntimeVersion), at(&p.Started), known(&p.Used, quantity.Driver), computed(&p.Peak),
		at(&p.First), at(&p.Last), at(&p.Ended), known(&p.ExitStatus, quantity.System), known(&p.OutOfMemoryCount, quantity.Probe),
		known(&p.AllocRetries, quantity.Probe), integer(&p.GPU)}, more)...)
	if command != "" {
		p.Command = strings.Fields(command)
	}
	return err
}

func (d *dayReader) processes() (map[int64]*ProcessRow, error) {
	all := make(map[int64]*ProcessRow)
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		row := new(ProcessRow)
		err := scanProcess(rows, row)
		all[row.key] = row
		return err
	}, "SELECT "+processColumns+" FROM processes p")
	return all, err
}

func (d *dayReader) uuids() (map[int64]string, error) {
	all := make(map[int64]string)
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		var key int64
		var uuid string
		err := rows.Scan(&key, &uuid)
		all[key] = uuid
		return err
	}, "SELECT gpu, uuid FROM gpus")
	return all, err
}

// alertsAt returns the alerts that were active at a moment, most severe first.
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
