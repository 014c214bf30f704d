package recording

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The plain rows, as they are in the tables of the same names. A field's tag is
// its column.

// Subject is what a row is about. UUID is "" and Process nil where it is about none.
type Subject struct {
	GPUUUID string
	Process *ProcessRow // shared; as its day describes it
}

// Row is the row that it is about, zero where there is none.
func (s *Subject) Row() snapshot.RowID {
	if s.Process == nil {
		return snapshot.RowID{}
	}
	return s.Process.ID
}

// ProcessRow is a process on a GPU.
type ProcessRow struct {
	snapshot.Process // identity, names, Used (the last), Peak
	First, Last      time.Time
	Ended            time.Time // zero while it runs
	ExitStatus       snapshot.Int
	OutOfMemoryCount quantity.Optional[int64]
	AllocRetries     quantity.Optional[int64]
}

// OOM is an out-of-memory error.
type OOM struct {
	Time time.Time `column:"time_ns"`
	Subject
	Message    string         `column:"message"`
	Requested  snapshot.Bytes `column:"requested_bytes"`
	GPUTotal   snapshot.Bytes `column:"gpu_total_bytes"`
	GPUUsed    snapshot.Bytes `column:"gpu_used_bytes"`
	GPUFree    snapshot.Bytes `column:"gpu_free_bytes"`
	Used       snapshot.Bytes `column:"used_bytes"`
	Allocated  snapshot.Bytes `column:"allocated_bytes"`
	Cached     snapshot.Bytes `column:"cached_bytes"`
	Fragmented snapshot.Bytes `column:"fragmented_bytes"`
	Detail     string         `column:"detail"` // JSON, "" where there is none
}

// Alert is a time in which an alert stood, within a day.
type Alert struct {
	Time time.Time `column:"from_ns"`
	To   time.Time `column:"to_ns"` // zero while it stands
	Subject
	Since    time.Time          `column:"since_ns"`
	Kind     snapshot.AlertKind `column:"kind"`
	Severity snapshot.Severity  `column:"severity"`
	Note     string             `column:"note"`
	Message  string             `column:"message"`
	Advice   string             `column:"advice"`
	Instance snapshot.InstanceID
}

// Action is what was done to a process.
type Action struct {
	Time time.Time `column:"time_ns"`
	Subject
	Kind    snapshot.EventKind `column:"kind"`
	Message string             `column:"message"`
	Freed   snapshot.Bytes     `column:"freed_bytes"`
}

// Forecast is what was forecast when an alert was raised, at one horizon.
type Forecast struct {
	Time time.Time `column:"time_ns"`
	Subject
	Alert        int64                            `column:"alert"` // unique within a day
	Horizon      time.Duration                    `column:"horizon_ns"`
	Median       snapshot.Bytes                   `column:"median_bytes"`
	Lower80      snapshot.Bytes                   `column:"lower_80_bytes"`
	Upper80      snapshot.Bytes                   `column:"upper_80_bytes"`
	Lower95      snapshot.Bytes                   `column:"lower_95_bytes"`
	Upper95      snapshot.Bytes                   `column:"upper_95_bytes"`
	FullMedian   quantity.Optional[time.Duration] `column:"full_median_ns"`
	FullEarliest quantity.Optional[time.Duration] `column:"full_earliest_ns"`
	FullLatest   quantity.Optional[time.Duration] `column:"full_latest_ns"` // unknown: perhaps never
}

// Sum is a figure over a stretch of time.
type Sum struct {
	Min, Mean, Max quantity.Optional[int64] // bytes
}

// Utilization is per cent over a stretch of time.
type Utilization struct {
	Min, Max snapshot.Int
	Mean     snapshot.Float
}

// GPUMinute is a GPU in the minute that begins at Time.
type GPUMinute struct {
	Time        time.Time `column:"time_ns"`
	Subject     `column:"gpu"`
	Covered     time.Duration `column:"covered_ns"` // how much of it was measured
	Processes   snapshot.Int  `column:"processes"`
	Used        Sum           `column:"used"`
	Free        Sum           `column:"free"`
	Allocated   Sum           `column:"allocated"`
	Cached      Sum           `column:"cached"`
	Fragmented  Sum           `column:"fragmented"`
	Other       Sum           `column:"other"`
	Unknown     Sum           `column:"unknown"`
	Utilization Utilization   `column:"utilization"`
}

// Process5Min is a row in the five minutes that begin at Time.
type Process5Min struct {
	Time             time.Time `column:"time_ns"`
	Subject          `column:"process"`
	Covered          time.Duration            `column:"covered_ns"`
	Used             Sum                      `column:"used"`
	Allocated        Sum                      `column:"allocated"`
	Cached           Sum                      `column:"cached"`
	Fragmented       Sum                      `column:"fragmented"`
	Other            Sum                      `column:"other"`
	Utilization      Utilization              `column:"sm_utilization"`
	OutOfMemoryCount quantity.Optional[int64] `column:"out_of_memory_count"`
	AllocRetries     quantity.Optional[int64] `column:"alloc_retries"`
}

// OOMs are the out-of-memory errors in [from, to), oldest first, as all rows are.
func (r *Recording) OOMs(from, to time.Time) ([]OOM, error) {
	return rows[OOM](r, "ooms", from, to)
}

// Alerts are those that were raised in [from, to).
func (r *Recording) Alerts(from, to time.Time) ([]Alert, error) {
	return rows[Alert](r, "alerts", from, to)
}

// Actions are what was done in [from, to).
func (r *Recording) Actions(from, to time.Time) ([]Action, error) {
	return rows[Action](r, "actions", from, to)
}

// Forecasts are those of the alerts that were raised in [from, to).
func (r *Recording) Forecasts(from, to time.Time) ([]Forecast, error) {
	return rows[Forecast](r, "forecasts", from, to)
}

// GPUMinutes are the minutes that begin in [from, to).
func (r *Recording) GPUMinutes(from, to time.Time) ([]GPUMinute, error) {
	return rows[GPUMinute](r, "gpu_minute", from, to)
}

// Process5Min are the five minutes that begin in [from, to).
func (r *Recording) Process5Min(from, to time.Time) ([]Process5Min, error) {
	return rows[Process5Min](r, "process_5min", from, to)
}

// Processes are those that ran in [from, to), by their first moment. One that ran
// on several days is one row.
func (r *Recording) Processes(from, to time.Time) ([]ProcessRow, error) {
	var all []ProcessRow
	at := make(map[snapshot.RowID]int)
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		if err != nil {
			return nil, err
		}
		found, err := d.processes()
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if p.Last.Before(from) || !p.First.Before(to) {
				continue
			}
			i, known := at[p.ID]
			if !known {
				at[p.ID] = len(all)
				all = append(all, *p)
				continue
			}
			whole := *p
			whole.First, whole.Peak = all[i].First, larger(all[i].Peak, p.Peak)
			all[i] = whole
		}
	}
	slices.SortStableFunc(all, func(a, b ProcessRow) int { return a.First.Compare(b.First) })
	return all, nil
}

func larger(a, b snapshot.Bytes) snapshot.Bytes {
	if a.Or(0) > b.Or(0) || !b.Known() {
		return a
	}
	return b
}

// rows reads a table over all days.
func rows[T any](r *Recording, table string, from, to time.Time) ([]T, error) {
	var all []T
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		if err != nil {
			return all, err
		}
		if all, err = dayRows(d, all, table, from.UnixNano(), to.UnixNano()); err != nil {
			return all, fmt.Errorf("recording: %s: %s: %w", path, table, err)
		}
	}
	return all, nil
}

// dayRows reads a day's table.
func dayRows[T any](d *dayReader, all []T, table string, from, to int64) ([]T, error) {
	var names []string
	fieldColumns(reflect.TypeFor[T](), func(name string) { names = append(names, name) })
	uuids, err := d.uuids()
	if err != nil {
		return all, err
	}
	processes, err := d.processes()
	if err != nil {
		return all, err
	}
	order := names[0] // the time
	err = each(ctx, d.db, func(rows *sql.Rows) error {
		values := make([]any, len(names))
		pointers := make([]any, len(names))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		var row T
		fill(reflect.ValueOf(&row).Elem(), &values, uuids, processes)
		all = append(all, row)
		return nil
	}, fmt.Sprintf("SELECT %s FROM %s WHERE %s >= ? AND %[3]s < ? ORDER BY %[3]s", strings.Join(names, ", "), table, order), from, to)
	return all, err
}

// fieldColumns visits the columns of a type, in the order in which fill takes their values.
func fieldColumns(t reflect.Type, visit func(string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		column := f.Tag.Get("column")
		switch f.Type {
		case reflect.TypeFor[Subject]():
			for _, id := range []string{"gpu", "process"} {
				if column != "" && column != id {
					id = "NULL" // the table has the other alone
				}
				visit(id)
			}
		case reflect.TypeFor[snapshot.InstanceID]():
			visit("mig_gpu")
			visit("mig_compute")
		case reflect.TypeFor[Sum]():
			visit(column + "_min_bytes")
			visit(column + "_mean_bytes")
			visit(column + "_max_bytes")
		case reflect.TypeFor[Utilization]():
			visit(column + "_min_percent")
			visit(column + "_mean_percent")
			visit(column + "_max_percent")
		default:
			visit(column)
		}
	}
}
