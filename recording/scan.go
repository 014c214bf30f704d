package recording

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// into takes a column's value; NULL changes nothing.
type into func(v any)

// Scan implements sql.Scanner.
func (i into) Scan(v any) error {
	i(v)
	return nil
}

func integer[T ~int | ~int64 | ~uint8 | ~uint32 | ~uint64](to *T) into {
	return func(v any) {
		if n, ok := v.(int64); ok {
			*to = T(n)
		}
	}
}

func word[T ~string](to *T) into {
	return func(v any) {
		if s, ok := v.(string); ok {
			*to = T(s)
		}
	}
}

func at(to *time.Time) into {
	return func(v any) {
		if ns, ok := v.(int64); ok {
			*to = moment(ns)
		}
	}
}

// known takes a figure. Its original source is not recorded.
func known[T ~int | ~int64 | ~uint32](to *quantity.Optional[T], source quantity.Source) into {
	return func(v any) {
		if n, ok := v.(int64); ok {
			*to = quantity.From(T(n), source)
		}
	}
}

func computed[T ~int | ~int64](to *quantity.Optional[T]) into { return known(to, quantity.Computed) }

func percent(to *snapshot.Float) into {
	return func(v any) {
		if mean, ok := v.(float64); ok {
			*to = quantity.From(mean, quantity.Computed)
		}
	}
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
