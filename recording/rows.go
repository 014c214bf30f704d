package recording

import (
	"cmp"
	"slices"
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
	OutOfMemoryCount quantity.Optional[int64]
	AllocRetries     quantity.Optional[int64]
}

// OOM is an out-of-memory error.
type OOM struct {
	Time time.Time `column:"time_ns"`
	Subject
	Message string `column:"message"`
}

// Alert is an alert, and when its GPU would be full by the forecast of that moment. It is
// recorded anew where a day or a recorder begins.
type Alert struct {
	Time time.Time `column:"from_ns"`
	Subject
	Since    time.Time          `column:"since_ns"`
	Kind     snapshot.AlertKind `column:"kind"`
	Message  string             `column:"message"`
	Instance snapshot.InstanceID
	Median   quantity.Optional[time.Duration] `column:"(SELECT full_median_ns FROM forecasts f WHERE f.time_ns = from_ns AND f.alert = alerts.alert)"`
	Earliest quantity.Optional[time.Duration] `column:"(SELECT full_earliest_ns FROM forecasts f WHERE f.time_ns = from_ns AND f.alert = alerts.alert)"`
	Latest   quantity.Optional[time.Duration] `column:"(SELECT full_latest_ns FROM forecasts f WHERE f.time_ns = from_ns AND f.alert = alerts.alert)"` // unknown: the interval has no late end
}

// Action is what was done to a process.
type Action struct {
	Time time.Time `column:"time_ns"`
	Subject
	Kind    snapshot.EventKind `column:"kind"`
	Message string             `column:"message"`
	Freed   snapshot.Bytes     `column:"freed_bytes"`
}

// Decision is what the guard decided.
type Decision struct {
	Time time.Time `column:"time_ns"`
	Subject
	Kind     snapshot.GuardDecisionKind `column:"kind"`
	Rule     string                     `column:"rule"`
	User     string                     `column:"user"`
	Name     string                     `column:"name"`
	Level    string                     `column:"level"`
	Free     snapshot.Bytes             `column:"free_bytes"`
	Goal     snapshot.Bytes             `column:"goal_bytes"`
	Expected snapshot.Bytes             `column:"expected_bytes"`
	Measured snapshot.Bytes             `column:"measured_bytes"`
	Reason   string                     `column:"reason"`
	Message  string                     `column:"message"`
	Instance snapshot.InstanceID
}

// Sum is a figure over a stretch of time.
type Sum struct {
	Min, Mean, Max snapshot.Bytes
}

// Utilization is per cent over a stretch of time.
type Utilization struct {
	Mean snapshot.Float
	Max  snapshot.Int
}

// GPUMinute is a GPU in the minute that begins at Time. The parts are means.
type GPUMinute struct {
	Time        time.Time `column:"time_ns"`
	Subject     `column:"gpu"`
	Covered     time.Duration  `column:"covered_ns"` // how much of it was measured
	Used        Sum            `column:"used"`
	Free        snapshot.Bytes `column:"free_mean_bytes"`
	Allocated   snapshot.Bytes `column:"allocated_mean_bytes"`
	Cached      snapshot.Bytes `column:"cached_mean_bytes"`
	Fragmented  snapshot.Bytes `column:"fragmented_mean_bytes"`
	Other       snapshot.Bytes `column:"other_mean_bytes"`
	Unknown     snapshot.Bytes `column:"unknown_mean_bytes"`
	Utilization Utilization    `column:"utilization"`
}

// Process5Min is a row in the five minutes that begin at Time. The parts are means.
type Process5Min struct {
	Time         time.Time `column:"time_ns"`
	Subject      `column:"process"`
	Covered      time.Duration            `column:"covered_ns"`
	Used         Sum                      `column:"used"`
	Allocated    snapshot.Bytes           `column:"allocated_mean_bytes"`
	Cached       snapshot.Bytes           `column:"cached_mean_bytes"`
	Fragmented   snapshot.Bytes           `column:"fragmented_mean_bytes"`
	Other        snapshot.Bytes           `column:"other_mean_bytes"`
	Utilization  Utilization              `column:"sm_utilization"`
	AllocRetries quantity.Optional[int64] `column:"alloc_retries"`
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

// Decisions are those of the guard in [from, to).
func (r *Recording) Decisions(from, to time.Time) ([]Decision, error) {
	return rows[Decision](r, "decisions", from, to)
}

// GPUMinutes visits the minutes that begin in [from, to). The row is valid until
// visit returns: a month of eight GPUs has 350,000.
func (r *Recording) GPUMinutes(from, to time.Time, visit func(*GPUMinute)) error {
	return eachRow(r, "gpu_minute", from, to, visit)
}

// Process5Min visits the five minutes that begin in [from, to), as GPUMinutes does.
func (r *Recording) Process5Min(from, to time.Time, visit func(*Process5Min)) error {
	return eachRow(r, "process_5min", from, to, visit)
}

// Processes are those that ran in [from, to), by their first moment, then by PID. One that ran
// on several days is one row.
func (r *Recording) Processes(from, to time.Time) ([]ProcessRow, error) {
	var all []ProcessRow
	at := make(map[snapshot.RowID]int)
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		var found map[int64]*ProcessRow
		if err == nil {
			found, err = d.processes()
		}
		if err = r.unless(path, err); err != nil {
			return nil, err
		}
		for _, p := range found {
			last := p.Last
			if p.Ended.IsZero() {
				last = last.Add(5 * time.Minute) // it is written with the sums
			}
			if last.Before(from) || !p.First.Before(to) {
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
			whole.OutOfMemoryCount = latestKnown(p.OutOfMemoryCount, all[i].OutOfMemoryCount)
			whole.AllocRetries = latestKnown(p.AllocRetries, all[i].AllocRetries)
			all[i] = whole
		}
	}
	slices.SortStableFunc(all, func(a, b ProcessRow) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.ID.Process.PID, b.ID.Process.PID), cmp.Compare(a.ID.GPUUUID, b.ID.GPUUUID))
	})
	return all, nil
}

func larger(a, b snapshot.Bytes) snapshot.Bytes {
	if a.Or(0) > b.Or(0) || !b.Known() {
		return a
	}
	return b
}
