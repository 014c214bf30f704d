package recording

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// writeEvent records an event, with its details in decisions, actions or ooms.
func (d *day) writeEvent(e *snapshot.Event, snap *snapshot.Snapshot) {
	at := e.Time.UnixNano()
	gpu, process := d.subjects(e.GPUUUID, e.Row)
	if e.Kind == snapshot.EventOutOfMemory && e.Row.Process.PID != 0 && d.rows[e.Row] == nil {
		process = d.exited(at, e, gpu)
	}
	message := text.Clean(e.Message)
	d.exec("INSERT INTO events (time_ns, kind, severity, gpu, process, user, name, message, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		at, e.Kind, e.Severity, gpu, process, words(e.User), words(e.Name), message, number(e.Bytes))
	if e.Decision != nil {
		d.writeDecision(at, e.Decision, gpu, process)
	}
	switch e.Kind {
	case snapshot.EventFlush, snapshot.EventAttach, snapshot.EventSignal, snapshot.EventRescued, snapshot.EventNotRescued:
		d.exec("INSERT INTO actions (time_ns, kind, gpu, process, message, freed_bytes) VALUES (?, ?, ?, ?, ?, ?)",
			at, e.Kind, gpu, process, message, number(e.Bytes))
	case snapshot.EventOutOfMemory:
		d.writeOOM(at, e, snap, gpu, process)
	}
}

func (d *day) writeDecision(at int64, decision *snapshot.GuardDecision, gpu, process any) {
	migGPU, migCompute := instanceColumns(decision.Instance)
	d.exec(`INSERT INTO decisions (time_ns, kind, rule, gpu, mig_gpu, mig_compute, process, user, name, level,
		free_bytes, goal_bytes, expected_bytes, measured_bytes, reason, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		at, decision.Kind, words(decision.Rule), gpu, migGPU, migCompute, process, words(decision.User), words(decision.Name), words(decision.Level),
		number(decision.Free), number(decision.Goal), number(decision.Expected), number(decision.Measured), words(decision.Reason), words(decision.Message))
}

// writeOOM records an out-of-memory error with the figures of that tick.
func (d *day) writeOOM(at int64, e *snapshot.Event, snap *snapshot.Snapshot, gpu, process any) {
	var m snapshot.Memory
	if g := snap.GPU(e.GPUUUID); g != nil {
		m = g.Memory
	}
	var p snapshot.Process
	if row := snap.AnyRow(e.Row); row != nil {
		p = *row
	}
	var requested, detail any
	if e.OutOfMemory != nil {
		failed := *e.OutOfMemory
		for _, s := range []*string{&failed.Allocator, &failed.API, &failed.Library, &failed.Config, &failed.Trace} {
			*s = text.Clean(*s)
		}
		failed.Stack, failed.Held = slices.Clone(failed.Stack), slices.Clone(failed.Held)
		for i, call := range failed.Stack {
			failed.Stack[i] = text.Clean(call)
		}
		for i := range failed.Held {
			failed.Held[i].Name = text.Clean(failed.Held[i].Name)
		}
		requested, detail = number(failed.Requested), encoded(&failed)
	}
	d.exec(`INSERT INTO ooms (time_ns, gpu, process, message, gpu_total_bytes, gpu_used_bytes, gpu_free_bytes,
		used_bytes, allocated_bytes, cached_bytes, fragmented_bytes, requested_bytes, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		at, gpu, process, text.Clean(e.Message), number(m.Total), number(m.Used), number(m.Free),
		number(p.Used), number(p.Allocated), number(p.Cached), number(p.Fragmented), requested, detail)
}

// subjects returns the IDs of a GPU and a row, nil if there is none.
func (d *day) subjects(uuid string, row snapshot.RowID) (gpu, process any) {
	uuid = cmp.Or(uuid, row.GPUUUID)
	if g := d.gpus[uuid]; g != nil {
		gpu = g.id
	} else if uuid != "" {
		gpu = d.gpuID(uuid, d.last)
	}
	if r := d.rows[row]; r != nil {
		process = r.id
	} else if row.Process.PID != 0 {
		if found := d.find(findProcess, keyColumns(row, gpu)...); found != 0 {
			process = found
		}
	}
	return gpu, process
}

// exited returns the ID of a process that had an out-of-memory error and has no row. It inserts the
// process if needed. It searches only the processes of the event's user, because any user can leave
// an error record with the PID of another user's process.
func (d *day) exited(at int64, e *snapshot.Event, gpu any) int64 {
	if found := d.find(findProcess+" AND user IS ?", keyColumns(e.Row, gpu, words(e.User))...); found != 0 {
		return found
	}
	return d.exec(`INSERT INTO processes (pid, start_time, pid_namespace, gpu, mig_gpu, mig_compute, user, name, first_ns, last_ns, ended_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		keyColumns(e.Row, gpu, words(e.User), words(e.Name), at, at, at)...)
}

func (d *day) writeAlerts(now int64, snap *snapshot.Snapshot) {
	standing := make(map[snapshot.AlertKey]bool, len(snap.Alerts))
	for i := range snap.Alerts {
		a := &snap.Alerts[i]
		key := a.Key()
		standing[key] = true
		before, known := d.alerts[key]
		if known && (before.named || a.Row == (snapshot.RowID{})) {
			continue
		}
		gpu, process := d.subjects(a.GPUUUID, a.Row)
		if known { // the alert names a process now
			if process != nil {
				d.exec("UPDATE alerts SET process = ? WHERE alert = ?", process, before.id)
				d.alerts[key] = alertRecord{before.id, true}
			}
			continue
		}
		migGPU, migCompute := instanceColumns(a.Instance)
		id := d.exec("INSERT INTO alerts (from_ns, since_ns, kind, severity, gpu, mig_gpu, mig_compute, process, note, message, advice) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			now, orNull(nanoseconds(a.Since)), a.Kind, a.Severity, gpu, migGPU, migCompute, process, text.Clean(a.Note), text.Clean(a.Message), text.Clean(a.Advice))
		d.alerts[key] = alertRecord{id, process != nil}
		d.writeForecasts(id, now, a, snap, gpu, process)
	}
	for key, a := range d.alerts {
		if !standing[key] {
			d.exec("UPDATE alerts SET to_ns = ? WHERE alert = ?", now, a.id)
			delete(d.alerts, key)
		}
	}
}

// writeForecasts records the forecasts for an alert's GPU, instance or row.
func (d *day) writeForecasts(alert, now int64, a *snapshot.Alert, snap *snapshot.Snapshot, gpu, process any) {
	var predicted []snapshot.Prediction
	var full *snapshot.FullIn
	if g := snap.GPU(a.GPUUUID); g != nil {
		outlook := g.OutlookOf(a.Instance)
		predicted, full = outlook.Predicted, outlook.FullIn
	}
	if row := snap.Row(a.Row); row != nil && a.Kind == snapshot.AlertLeak {
		predicted, full = row.Predicted, nil
	} else {
		process = nil
	}
	var median, earliest, latest any
	if full != nil {
		median, earliest, latest = int64(full.Median), int64(full.Earliest), orNull(int64(full.Latest))
	}
	for _, p := range predicted {
		d.exec(`INSERT INTO forecasts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, alert, now, gpu, process, int64(p.Horizon),
			int64(p.Median), int64(p.Lower80), int64(p.Upper80), int64(p.Lower95), int64(p.Upper95), median, earliest, latest)
	}
}

// Events returns the newest events first, at most limit of them (0: all).
func (r *Recording) Events(limit int) []snapshot.Event {
	return r.EventsUntil(time.Unix(0, math.MaxInt64), limit)
}

// EventsUntil returns the newest events up to t first, at most limit of them (0: all).
func (r *Recording) EventsUntil(t time.Time, limit int) []snapshot.Event {
	return r.eventsUntil(t, limit, "e.time_ns <= ?", t.UnixNano())
}

// EventsOf returns the newest events of a kind first, at most limit of them (0: all).
func (r *Recording) EventsOf(kind snapshot.EventKind, limit int) []snapshot.Event {
	return r.eventsUntil(time.Unix(0, math.MaxInt64), limit, "e.kind = ?", kind)
}

// lateEvent is how much older than its tick an event may be. It is recorded on the day of the tick.
const lateEvent = time.Minute

func (r *Recording) eventsUntil(t time.Time, limit int, where string, args ...any) []snapshot.Event {
	var events []snapshot.Event
	for _, path := range slices.Backward(r.between(time.Time{}, t.Add(lateEvent))) {
		d, err := r.day(path)
		if err != nil {
			continue
		}
		left := -1
		if limit > 0 {
			left = limit - len(events)
		}
		events = append(events, d.events(left, where, args...)...)
		if limit > 0 && len(events) >= limit {
			break
		}
	}
	return events
}

// EventsBeside returns the events of the first moment after t that has events or, without forward,
// of the last such moment before t.
func (r *Recording) EventsBeside(t time.Time, forward bool) []snapshot.Event {
	paths, next := r.between(t, time.Unix(0, math.MaxInt64)), "SELECT min(time_ns) FROM events WHERE time_ns > ?"
	if !forward {
		paths, next = r.between(time.Time{}, t.Add(lateEvent)), "SELECT max(time_ns) FROM events WHERE time_ns < ?"
		slices.Reverse(paths)
	}
	for i, path := range paths {
		d, err := r.day(path)
		if err != nil {
			continue
		}
		if at := d.number(next, t.UnixNano()); at != 0 {
			events := d.events(-1, "e.time_ns = ?", at)
			// A late event is in the next day's database, but may be older than this day's events.
			if forward && i+1 < len(paths) {
				if later, err := r.day(paths[i+1]); err == nil {
					if early := later.number(next, t.UnixNano()); early != 0 && early < at {
						return later.events(-1, "e.time_ns = ?", early)
					}
				}
			}
			return events
		}
	}
	return nil
}

// events returns the events that meet a condition, newest first; a negative limit means all.
func (d *dayReader) events(limit int, where string, args ...any) []snapshot.Event {
	var events []snapshot.Event
	d.each(collectEvents(&events), selectEvents+where+` ORDER BY e.time_ns DESC, e.event DESC LIMIT `+strconv.Itoa(limit), args...)
	return events
}

const selectEvents = `SELECT ` + identityColumns + `, e.time_ns, e.kind, e.severity, g.uuid, g.gpu_index, e.user, e.name, e.message, e.bytes,
		(SELECT o.detail FROM ooms o WHERE e.kind = 'out_of_memory' AND o.time_ns = e.time_ns AND o.process IS e.process)
	FROM events e LEFT JOIN gpus g ON g.gpu = e.gpu LEFT JOIN processes p ON p.process = e.process WHERE `

func collectEvents(events *[]snapshot.Event) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var e snapshot.Event
		var detail string
		err := rows.Scan(append(identity(&e.Row), at(&e.Time), word(&e.Kind), integer(&e.Severity), word(&e.GPUUUID), integer(&e.GPU),
			word(&e.User), word(&e.Name), word(&e.Message), computed(&e.Bytes), word(&detail))...)
		if failed := new(snapshot.OutOfMemory); json.Unmarshal([]byte(detail), failed) == nil {
			e.OutOfMemory = failed
		}
		*events = append(*events, e)
		return err
	}
}
