package recording

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The plain rows, as they are in the tables of the same names. A field's tag is
// its column.

// Subject is what a row is about. UUID is "" and Row zero where it is about none.
type Subject struct {
	GPUUUID string
	Row     snapshot.RowID
}

// ProcessRow is a process on a GPU.
type ProcessRow struct {
	snapshot.Process // identity, names, Used (the last), Peak
	First, Last      time.Time
	Ended            time.Time // zero while it runs
	OutOfMemoryCount quantity.Optional[int64]
	AllocRetries     quantity.Optional[int64]
}

// Alert is an alert, and when its GPU would be full by the forecast of that moment. It is
// recorded again when a day or a recorder begins.
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
	Covered     time.Duration            `column:"covered_ns"` // how much of it was measured
	Used        Sum                      `column:"used"`
	Free        snapshot.Bytes           `column:"free_mean_bytes"`
	Allocated   snapshot.Bytes           `column:"allocated_mean_bytes"`
	Cached      snapshot.Bytes           `column:"cached_mean_bytes"`
	Fragmented  snapshot.Bytes           `column:"fragmented_mean_bytes"`
	Other       snapshot.Bytes           `column:"other_mean_bytes"`
	Unknown     snapshot.Bytes           `column:"unknown_mean_bytes"`
	Utilization Utilization              `column:"utilization"`
	Energy      quantity.Optional[int64] `column:"energy_joules"`
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
	// Its part of the GPU's time, in ns, and energy, in J. Unknown in recordings of before.
	Held   quantity.Optional[int64] `column:"held_ns"`
	Busy   quantity.Optional[int64] `column:"busy_ns"`
	Idle   quantity.Optional[int64] `column:"idle_ns"`
	Energy quantity.Optional[int64] `column:"energy_joules"`
}

// Alerts are those that were raised in [from, to), oldest first, as all rows are.
func (r *Recording) Alerts(from, to time.Time) ([]Alert, error) {
	return rows[Alert](r, "alerts", from, to)
}

// Decisions are those of the guard in [from, to).
func (r *Recording) Decisions(from, to time.Time) ([]snapshot.GuardDecision, error) {
	var all []snapshot.GuardDecision
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var row identity
		var at place
		var ns int64
		var kind string
		var index, free, goal, expected, measured sql.NullInt64
		var uuid, rule, user, name, level, reason, message sql.NullString
		err := rows.Scan(append(row.columns(), &ns, &kind, &rule, &uuid, &index, &at.migGPU, &at.migCompute, &user, &name, &level,
			&free, &goal, &expected, &measured, &reason, &message)...)
		computed := func(v sql.NullInt64) snapshot.Bytes { return known[quantity.Bytes](v, quantity.Computed) }
		all = append(all, snapshot.GuardDecision{
			Time: moment(ns), Kind: snapshot.GuardDecisionKind(kind), Rule: rule.String, GPU: int(index.Int64), GPUUUID: uuid.String,
			Instance: at.instance(), Row: row.row(), User: user.String, Name: name.String, Level: level.String, Free: computed(free),
			Goal: computed(goal), Expected: computed(expected), Measured: computed(measured), Reason: reason.String, Message: message.String,
		})
		return err
	}, `SELECT `+identityColumns+`, d.time_ns, d.kind, d.rule, coalesce(g.uuid, (SELECT uuid FROM gpus WHERE gpu = p.gpu)), g.gpu_index, d.mig_gpu, d.mig_compute,
			d.user, d.name, d.level, d.free_bytes, d.goal_bytes, d.expected_bytes, d.measured_bytes, d.reason, d.message
		FROM decisions d LEFT JOIN gpus g ON g.gpu = d.gpu LEFT JOIN processes p ON p.process = d.process
		WHERE d.time_ns >= ? AND d.time_ns < ? ORDER BY d.time_ns, d.decision`, from.UnixNano(), to.UnixNano())
	return all, err
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

// Session is a time of writing without interruption.
type Session struct {
	To        time.Time // its last tick
	Host      string
	Simulated bool
}

// GPURow is a GPU as its day describes it.
type GPURow struct {
	UUID            string
	Index           int
	Name            string
	Total, Reserved snapshot.Bytes
}

// Capacity is the total less what the driver keeps for itself.
func (g *GPURow) Capacity() snapshot.Bytes {
	return snapshot.Memory{Total: g.Total, Reserved: g.Reserved}.Capacity()
}

// EventRow is an event of the log.
type EventRow struct {
	Time time.Time `column:"time_ns"`
	Subject
	Kind    snapshot.EventKind `column:"kind"`
	Message string             `column:"message"`
	Bytes   snapshot.Bytes     `column:"bytes"` // of an action: what it freed
}

// EventRows are the events in [from, to).
func (r *Recording) EventRows(from, to time.Time) ([]EventRow, error) {
	return rows[EventRow](r, "events", from, to)
}

// Sessions are those that wrote in [from, to), oldest first.
func (r *Recording) Sessions(from, to time.Time) ([]Session, error) {
	var all []Session
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var s Session
		var last int64
		var host sql.NullString
		err := rows.Scan(&last, &host, &s.Simulated)
		s.To, s.Host = moment(last), host.String
		all = append(all, s)
		return err
	}, `SELECT max(to_ns, coalesce((SELECT max(time_ns) FROM tail WHERE tail.session = sessions.session), 0)) AS last, host, simulated
		FROM sessions WHERE from_ns < ?2 AND last >= ?1 ORDER BY session`,
		from.UnixNano(), to.UnixNano())
	return all, err
}

// GPUs are those that were there in [from, to). A GPU is there once for each day.
func (r *Recording) GPUs(from, to time.Time) ([]GPURow, error) {
	var all []GPURow
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var g GPURow
		var index, total, reserved sql.NullInt64
		var name sql.NullString
		err := rows.Scan(&g.UUID, &index, &name, &total, &reserved)
		g.Index, g.Name = int(index.Int64), name.String
		g.Total, g.Reserved = known[quantity.Bytes](total, quantity.Driver), known[quantity.Bytes](reserved, quantity.Driver)
		all = append(all, g)
		return err
	}, "SELECT uuid, gpu_index, name, total_bytes, reserved_bytes FROM gpus ORDER BY gpu")
	return all, err
}

// Recorded are the processes of which a metric was recorded in [from, to).
func (r *Recording) Recorded(id metric.ID, from, to time.Time) (map[snapshot.RowID]bool, error) {
	all := make(map[snapshot.RowID]bool)
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var row identity
		err := rows.Scan(row.columns()...)
		all[row.row()] = true
		return err
	}, "SELECT DISTINCT "+identityColumns+" FROM series s JOIN processes p ON p.process = s.process WHERE s.metric = ?", metric.Table[id].Name)
	return all, err
}

// eachDay calls scan for every row of a query in the days of a time.
func (r *Recording) eachDay(from, to time.Time, scan func(*sql.Rows) error, query string, args ...any) error {
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		if err == nil {
			err = each(ctx, d.db, scan, query, args...)
		}
		if err = r.unless(path, err); err != nil {
			return fmt.Errorf("recording: %s: %w", path, err)
		}
	}
	return nil
}
