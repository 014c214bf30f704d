package recording

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// ProcessRow is a process on a GPU.
type ProcessRow struct {
	snapshot.Process // identity, names, Used (the last), Peak
	First, Last      time.Time
	Ended            time.Time // zero while the process runs
	ExitStatus       snapshot.Int
	OutOfMemoryCount quantity.Optional[int64]
	AllocRetries     quantity.Optional[int64]
	key              int64
}

// Alert is an alert, with its forecast of when the GPU would be full. An active alert is recorded
// again when a new day or session begins.
type Alert struct {
	snapshot.Alert
	Time     time.Time
	Median   quantity.Optional[time.Duration]
	Earliest quantity.Optional[time.Duration]
	Latest   quantity.Optional[time.Duration] // unknown if the interval has no upper end
}

func (a *Alert) columns() []any {
	return slices.Concat(identity(&a.Row), instance(&a.Instance), []any{at(&a.Time), word(&a.GPUUUID), at(&a.Since), word(&a.Kind), word(&a.Message),
		computed(&a.Median), computed(&a.Earliest), computed(&a.Latest)})
}

// Sum is a figure over a stretch of time.
type Sum struct {
	Min, Mean, Max snapshot.Bytes
}

// Utilization is a percentage over a stretch of time.
type Utilization struct {
	Mean snapshot.Float
	Max  snapshot.Int
}

// GPUMinute is a GPU in the minute that begins at Time. The parts of memory are means.
type GPUMinute struct {
	Time        time.Time
	GPUUUID     string
	Covered     time.Duration // how much of the minute was measured
	Used        Sum
	Free        snapshot.Bytes
	Allocated   snapshot.Bytes
	Cached      snapshot.Bytes
	Fragmented  snapshot.Bytes
	Other       snapshot.Bytes
	Unknown     snapshot.Bytes
	Utilization Utilization
	Energy      quantity.Optional[int64]
}

const selectMinutes = `SELECT time_ns, uuid, covered_ns, used_min_bytes, used_mean_bytes, used_max_bytes, free_mean_bytes, allocated_mean_bytes, cached_mean_bytes,
		fragmented_mean_bytes, other_mean_bytes, unknown_mean_bytes, utilization_mean_percent, utilization_max_percent, energy_joules
	FROM gpu_minute LEFT JOIN gpus USING (gpu) WHERE time_ns >= ? AND time_ns < ? ORDER BY time_ns`

func (m *GPUMinute) columns() []any {
	return []any{at(&m.Time), word(&m.GPUUUID), integer(&m.Covered), computed(&m.Used.Min), computed(&m.Used.Mean), computed(&m.Used.Max),
		computed(&m.Free), computed(&m.Allocated), computed(&m.Cached), computed(&m.Fragmented), computed(&m.Other), computed(&m.Unknown),
		percent(&m.Utilization.Mean), computed(&m.Utilization.Max), computed(&m.Energy)}
}

// Process5Min is a row in the five minutes that begin at Time. The parts of memory are means.
type Process5Min struct {
	Time         time.Time
	Row          snapshot.RowID
	Covered      time.Duration
	Used         Sum
	Allocated    snapshot.Bytes
	Cached       snapshot.Bytes
	Fragmented   snapshot.Bytes
	Other        snapshot.Bytes
	Utilization  Utilization
	AllocRetries quantity.Optional[int64]
	// The row's part of the GPU's time, in ns, and of its energy, in J.
	Held   quantity.Optional[int64]
	Busy   quantity.Optional[int64]
	Idle   quantity.Optional[int64]
	Energy quantity.Optional[int64]
}

const selectFives = `SELECT ` + identityColumns + `, time_ns, covered_ns, used_min_bytes, used_mean_bytes, used_max_bytes, allocated_mean_bytes, cached_mean_bytes,
		fragmented_mean_bytes, other_mean_bytes, sm_utilization_mean_percent, sm_utilization_max_percent, f.alloc_retries, held_ns, busy_ns, idle_ns, energy_joules
	FROM process_5min f LEFT JOIN processes p USING (process) WHERE time_ns >= ? AND time_ns < ? ORDER BY time_ns`

func (f *Process5Min) columns() []any {
	return append(identity(&f.Row), at(&f.Time), integer(&f.Covered), computed(&f.Used.Min), computed(&f.Used.Mean), computed(&f.Used.Max),
		computed(&f.Allocated), computed(&f.Cached), computed(&f.Fragmented), computed(&f.Other),
		percent(&f.Utilization.Mean), computed(&f.Utilization.Max), computed(&f.AllocRetries), computed(&f.Held), computed(&f.Busy), computed(&f.Idle), computed(&f.Energy))
}

// Alerts returns the alerts whose record begins in [from, to), oldest first.
func (r *Recording) Alerts(from, to time.Time) (all []Alert, err error) {
	full := "(SELECT full_%s_ns FROM forecasts f WHERE f.time_ns = from_ns AND f.alert = a.alert)"
	full = fmt.Sprintf(full+", "+full+", "+full, "median", "earliest", "latest")
	err = r.eachDay(from, to, collect(&all, (*Alert).columns), `SELECT `+identityColumns+`, a.mig_gpu, a.mig_compute, from_ns, coalesce(g.uuid, (SELECT uuid FROM gpus WHERE gpu = p.gpu)),
			since_ns, kind, message, `+full+` FROM alerts a LEFT JOIN gpus g ON g.gpu = a.gpu LEFT JOIN processes p ON p.process = a.process
		WHERE from_ns >= ? AND from_ns < ? ORDER BY from_ns`, from.UnixNano(), to.UnixNano())
	return all, err
}

// Decisions returns the guard's decisions in [from, to).
func (r *Recording) Decisions(from, to time.Time) (all []snapshot.GuardDecision, err error) {
	err = r.eachDay(from, to, collect(&all, func(d *snapshot.GuardDecision) []any {
		return slices.Concat(identity(&d.Row), instance(&d.Instance), []any{at(&d.Time), word(&d.Kind), word(&d.Rule),
			word(&d.GPUUUID), integer(&d.GPU), word(&d.User), word(&d.Name), word(&d.Level),
			computed(&d.Free), computed(&d.Goal), computed(&d.Expected), computed(&d.Measured), word(&d.Reason), word(&d.Message)})
	}), `SELECT `+identityColumns+`, d.mig_gpu, d.mig_compute, d.time_ns, d.kind, d.rule, coalesce(g.uuid, (SELECT uuid FROM gpus WHERE gpu = p.gpu)), g.gpu_index,
			d.user, d.name, d.level, d.free_bytes, d.goal_bytes, d.expected_bytes, d.measured_bytes, d.reason, d.message
		FROM decisions d LEFT JOIN gpus g ON g.gpu = d.gpu LEFT JOIN processes p ON p.process = d.process
		WHERE d.time_ns >= ? AND d.time_ns < ? ORDER BY d.time_ns, d.decision`, from.UnixNano(), to.UnixNano())
	return all, err
}

// GPUMinutes visits the minutes that begin in [from, to). visit must not keep its row, which is
// reused, because a month of eight GPUs has 350,000 rows.
func (r *Recording) GPUMinutes(from, to time.Time, visit func(*GPUMinute)) error {
	return r.eachDay(from, to, visiting((*GPUMinute).columns, visit), selectMinutes, from.UnixNano(), to.UnixNano())
}

// Process5Min visits the five minutes that begin in [from, to), as GPUMinutes does.
func (r *Recording) Process5Min(from, to time.Time, visit func(*Process5Min)) error {
	return r.eachDay(from, to, visiting((*Process5Min).columns, visit), selectFives, from.UnixNano(), to.UnixNano())
}

// Processes returns the processes that ran in [from, to), by their first moment, then by PID. It
// joins the rows of a process that ran on several days.
func (r *Recording) Processes(from, to time.Time) ([]ProcessRow, error) {
	var all []ProcessRow
	at := make(map[snapshot.RowID]int)
	err := r.eachReader(from, to, func(d *dayReader) error {
		found, err := d.processes()
		for _, p := range found {
			last := p.Last
			if p.Ended.IsZero() {
				last = last.Add(5 * time.Minute) // Last is up to five minutes old
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
		return err
	})
	sorted.Stable(all, func(a, b ProcessRow) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.ID.Process.PID, b.ID.Process.PID), cmp.Compare(a.ID.GPUUUID, b.ID.GPUUUID))
	})
	return all, err
}

func larger(a, b snapshot.Bytes) snapshot.Bytes {
	if a.Or(0) > b.Or(0) || !b.Known() {
		return a
	}
	return b
}

// Session is a stretch of ticks that one recorder wrote on one day.
type Session struct {
	To        time.Time // the session's last tick
	Host      string
	Simulated bool
}

// EventsBetween returns the events in [from, to), oldest first.
func (r *Recording) EventsBetween(from, to time.Time) (all []snapshot.Event, err error) {
	err = r.eachDay(from, to, collectEvents(&all), selectEvents+"e.time_ns >= ? AND e.time_ns < ? ORDER BY e.time_ns, e.event", from.UnixNano(), to.UnixNano())
	return all, err
}

// Sessions returns the sessions that wrote in [from, to), oldest first.
func (r *Recording) Sessions(from, to time.Time) (all []Session, err error) {
	err = r.eachDay(from, to, collect(&all, func(s *Session) []any { return []any{at(&s.To), word(&s.Host), &s.Simulated} }), `SELECT max(to_ns, coalesce((SELECT max(time_ns) FROM tail WHERE tail.session = sessions.session), 0)) AS last, host, simulated
		FROM sessions WHERE from_ns < ?2 AND last >= ?1 ORDER BY session`,
		from.UnixNano(), to.UnixNano())
	return all, err
}

// GPUs returns the GPUs of each day between from and to, with their names and capacity.
func (r *Recording) GPUs(from, to time.Time) (all []snapshot.GPU, err error) {
	err = r.eachDay(from, to, collect(&all, func(g *snapshot.GPU) []any {
		return []any{&g.UUID, integer(&g.Index), word(&g.Name), known(&g.Memory.Total, quantity.Driver), known(&g.Memory.Reserved, quantity.Driver)}
	}), "SELECT uuid, gpu_index, name, total_bytes, reserved_bytes FROM gpus ORDER BY gpu")
	return all, err
}

// Recorded returns the processes for which a metric was recorded on the days between from and to.
func (r *Recording) Recorded(id metric.ID, from, to time.Time) (map[snapshot.RowID]bool, error) {
	all := make(map[snapshot.RowID]bool)
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var row snapshot.RowID
		err := rows.Scan(identity(&row)...)
		all[row] = true
		return err
	}, "SELECT DISTINCT "+identityColumns+" FROM series s JOIN processes p ON p.process = s.process WHERE s.metric = ?", metric.Table[id].Name)
	return all, err
}

func (r *Recording) eachDay(from, to time.Time, scan func(*sql.Rows) error, query string, args ...any) error {
	return r.eachReader(from, to, func(d *dayReader) error { return each(ctx, d.db, scan, query, args...) })
}
