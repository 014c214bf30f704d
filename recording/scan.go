package recording

import (
	"database/sql"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// into receives a column's value, which is nil for NULL.
type into func(v any)

// Scan implements [sql.Scanner].
func (i into) Scan(v any) error {
	i(v)
	return nil
}

// visiting scans each row into the same value, which visit must not keep. columns returns the
// destinations of the columns.
func visiting[T any](columns func(*T) []any, visit func(*T)) func(*sql.Rows) error {
	var row, zero T
	values := columns(&row)
	return func(rows *sql.Rows) error {
		row = zero
		err := rows.Scan(values...)
		if err == nil {
			visit(&row)
		}
		return err
	}
}

func collect[T any](to *[]T, columns func(*T) []any) func(*sql.Rows) error {
	return visiting(columns, func(row *T) { *to = append(*to, *row) })
}

// take passes a value to set if it has type V, the type that the SQL driver uses for the column. It
// ignores other values, such as NULL.
func take[V any](set func(V)) into {
	return func(v any) {
		if value, ok := v.(V); ok {
			set(value)
		}
	}
}

func integer[T ~int | ~int64 | ~uint8 | ~uint32 | ~uint64](to *T) into {
	return take(func(n int64) { *to = T(n) })
}

func word[T ~string](to *T) into { return take(func(s string) { *to = T(s) }) }

func at(to *time.Time) into { return take(func(ns int64) { *to = moment(ns) }) }

// known receives a figure. The caller gives its source, because the recording does not keep sources.
func known[T ~int | ~int64 | ~uint32](to *quantity.Optional[T], source quantity.Source) into {
	return take(func(n int64) { *to = quantity.From(T(n), source) })
}

func computed[T ~int | ~int64](to *quantity.Optional[T]) into { return known(to, quantity.Computed) }

func percent(to *snapshot.Float) into {
	return take(func(mean float64) { *to = quantity.From(mean, quantity.Computed) })
}

// instance takes mig_gpu and mig_compute, which are NULL for a whole GPU.
func instance(to *snapshot.InstanceID) []any {
	gpu := integer(&to.GPU)
	return []any{into(func(v any) { to.MIG = v != nil; gpu(v) }), integer(&to.Compute)}
}

// identity takes identityColumns, which are NULL without a process.
func identity(to *snapshot.RowID) []any {
	id := &to.Process
	return append([]any{integer(&id.PID), integer(&id.StartTime), integer(&id.Namespace), word(&to.GPUUUID)}, instance(&to.Instance)...)
}

// identityColumns are the columns that identify a process p.
const identityColumns = "p.pid, p.start_time, p.pid_namespace, (SELECT uuid FROM gpus WHERE gpu = p.gpu), p.mig_gpu, p.mig_compute"
