package recording

import (
	"cmp"
	"database/sql"
	"reflect"
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// fill takes the values of a row, in the order of fieldColumns.
func fill(into reflect.Value, values *[]any, uuids map[int64]string, ids map[int64]snapshot.RowID) {
	take := func() any {
		v := (*values)[0]
		*values = (*values)[1:]
		return v
	}
	for i := range into.NumField() {
		switch f := into.Field(i).Addr().Interface().(type) {
		case *Subject:
			gpu, _ := take().(int64)
			process, _ := take().(int64)
			*f = Subject{GPUUUID: cmp.Or(uuids[gpu], ids[process].GPUUUID), Row: ids[process]}
		case *snapshot.InstanceID:
			gpu, mig := take().(int64)
			compute, _ := take().(int64)
			*f = snapshot.InstanceID{MIG: mig, GPU: uint32(gpu), Compute: uint32(compute)}
		case *Sum:
			f.Min, f.Mean, f.Max = optional[quantity.Bytes](take()), optional[quantity.Bytes](take()), optional[quantity.Bytes](take())
		case *Utilization:
			if mean, ok := take().(float64); ok {
				f.Mean = quantity.From(mean, quantity.Computed)
			}
			f.Max = optional[int](take())
		case *time.Time:
			if ns, ok := take().(int64); ok {
				*f = time.Unix(0, ns)
			}
		case *quantity.Optional[quantity.Bytes]:
			*f = optional[quantity.Bytes](take())
		case *quantity.Optional[int64]:
			*f = optional[int64](take())
		case *quantity.Optional[time.Duration]:
			*f = optional[time.Duration](take())
		default:
			set(into.Field(i), take())
		}
	}
}

// set sets a plain number or text; NULL is its zero.
func set(field reflect.Value, v any) {
	switch v := v.(type) {
	case int64:
		if field.CanInt() {
			field.SetInt(v)
		} else if field.CanUint() {
			field.SetUint(uint64(v))
		}
	case string:
		if field.Kind() == reflect.String {
			field.SetString(v)
		}
	}
}

// optional is a column's value, unknown for NULL. Where a recorded figure came from
// is not kept.
func optional[T ~int64 | ~int](v any) quantity.Optional[T] {
	if n, ok := v.(int64); ok {
		return quantity.From(T(n), quantity.Computed)
	}
	return quantity.Optional[T]{}
}

const processColumns = "p.process, " + identityColumns + `,
	p.parent, p.uid, p.user, p.name, p.command, p.job_kind, p.job_id, p.job_step, p.job_namespace, p.job_container, p.job_account, p.type, p.runtime, p.runtime_version, p.started_ns, p.used_bytes, p.peak_bytes,
	p.ended_ns, p.exit_status, p.out_of_memory_count, (SELECT gpu_index FROM gpus WHERE gpu = p.gpu)`

// described is a row as the table processes describes it.
type described struct {
	id int64
	snapshot.EndedProcess
}

// scanProcess reads processColumns, and more behind them.
func scanProcess(rows *sql.Rows, more ...any) (out described, err error) {
	var id identity
	var parent, uid, started, used, peak, ended, exit, oom, index sql.NullInt64
	var user, name, command, jobKind, jobID, step, namespaceOfPod, container, account, kind, runtime, version sql.NullString
	p := &out.Last
	err = rows.Scan(slices.Concat([]any{&out.id}, id.columns(), []any{
		&parent, &uid, &user, &name, &command, &jobKind, &jobID, &step, &namespaceOfPod, &container, &account, &kind, &runtime, &version, &started, &used, &peak, &ended, &exit, &oom, &index}, more)...)
	p.ID, p.GPU = id.row(), int(index.Int64)
	p.Parent, p.User, p.Name, p.Command = int(parent.Int64), user.String, name.String, nil
	if command.Valid {
		p.Command = strings.Fields(command.String)
	}
	if uid.Valid {
		p.UID = quantity.From(uint32(uid.Int64), quantity.System)
	}
	p.Job = process.Job{Kind: jobKind.String, ID: jobID.String, Step: step.String, Namespace: namespaceOfPod.String, Container: container.String, Account: account.String}
	p.Type, p.Runtime, p.RuntimeVersion, p.Started = kind.String, runtime.String, version.String, moment(started.Int64)
	p.Used, p.Peak = known[quantity.Bytes](used, quantity.Driver), known[quantity.Bytes](peak, quantity.Computed)
	out.Ended, out.ExitStatus, out.OutOfMemoryCount = moment(ended.Int64), known[int](exit, quantity.System), known[int64](oom, quantity.Probe)
	return out, err
}

func (d *dayReader) processes() (map[int64]*ProcessRow, error) {
	all := make(map[int64]*ProcessRow)
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		var first, last, retries sql.NullInt64
		p, err := scanProcess(rows, &first, &last, &retries)
		all[p.id] = &ProcessRow{
			Process: p.Last, First: moment(first.Int64), Last: moment(last.Int64), Ended: p.Ended,
			OutOfMemoryCount: p.OutOfMemoryCount, AllocRetries: known[int64](retries, quantity.Probe),
		}
		return err
	}, "SELECT "+processColumns+", p.first_ns, p.last_ns, p.alloc_retries FROM processes p")
	return all, err
}

func (d *dayReader) identities() (map[int64]snapshot.RowID, error) {
	all := make(map[int64]snapshot.RowID)
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		var id int64
		var row identity
		err := rows.Scan(append([]any{&id}, row.columns()...)...)
		all[id] = row.row()
		return err
	}, "SELECT p.process, "+identityColumns+" FROM processes p")
	return all, err
}

// known is a column's value, unknown for NULL.
func known[T quantity.Bytes | int | int64](v sql.NullInt64, source quantity.Source) quantity.Optional[T] {
	if !v.Valid {
		return quantity.Optional[T]{}
	}
	return quantity.From(T(v.Int64), source)
}

func (d *dayReader) uuids() (map[int64]string, error) {
	all := make(map[int64]string)
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		var id int64
		var uuid string
		err := rows.Scan(&id, &uuid)
		all[id] = uuid
		return err
	}, "SELECT gpu, uuid FROM gpus")
	return all, err
}

// alertsAt are the alerts of a moment, worst first.
func (d *dayReader) alertsAt(t int64) []snapshot.Alert {
	var alerts []snapshot.Alert
	d.each(func(rows *sql.Rows) error {
		var since, index sql.NullInt64
		var at place
		var process identity
		var kind string
		var uuid, note, message, advice sql.NullString
		var a snapshot.Alert
		err := rows.Scan(append(process.columns(), &since, &kind, &a.Severity, &uuid, &index, &at.migGPU, &at.migCompute, &note, &message, &advice)...)
		a.Since, a.Kind, a.GPU, a.GPUUUID = moment(since.Int64), snapshot.AlertKind(kind), int(index.Int64), uuid.String
		a.Row, a.Instance, a.Note, a.Message, a.Advice = process.row(), at.instance(), note.String, message.String, advice.String
		alerts = append(alerts, a)
		return err
	}, `SELECT `+identityColumns+`, a.since_ns, a.kind, a.severity, g.uuid, g.gpu_index, a.mig_gpu, a.mig_compute, a.note, a.message, a.advice
		FROM alerts a LEFT JOIN gpus g ON g.gpu = a.gpu LEFT JOIN processes p ON p.process = a.process
		WHERE a.from_ns <= ? AND (a.to_ns IS NULL OR a.to_ns > ?) ORDER BY a.severity DESC, a.alert`, t, t)
	return alerts
}
