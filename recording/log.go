package recording

import (
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Events gives the newest events first, at most limit of them (0: all).
func (r *Recording) Events(limit int) []snapshot.Event {
	return r.EventsUntil(time.Unix(0, math.MaxInt64), limit)
}

// EventsUntil gives the newest events up to t first, at most limit of them (0: all).
func (r *Recording) EventsUntil(t time.Time, limit int) []snapshot.Event {
	return r.eventsUntil(t, limit, "e.time_ns <= ?", t.UnixNano())
}

// EventsOf gives the newest events of a kind first, at most limit of them (0: all).
func (r *Recording) EventsOf(kind snapshot.EventKind, limit int) []snapshot.Event {
	return r.eventsUntil(time.Unix(0, math.MaxInt64), limit, "e.kind = ?", kind)
}

// lateEvent is how much older than the tick that saw it an event may be. It is in the
// day of that tick.
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

// EventsBeside gives the events of the first moment after t that has one, or of the
// last one before.
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
			// An event that was late is in the next day, before this one perhaps.
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

// events are those of a condition, newest first; a negative limit is none.
func (d *dayReader) events(limit int, where string, args ...any) []snapshot.Event {
	uuids, err := d.uuids()
	if err != nil {
		return nil
	}
	var events []snapshot.Event
	d.each(func(rows *sql.Rows) error {
		var at int64
		var index, gpu, pid, start, namespace, bytes sql.NullInt64
		var place place
		var kind string
		var user, name, message, detail sql.NullString
		var e snapshot.Event
		err := rows.Scan(&at, &kind, &e.Severity, &gpu, &index, &pid, &start, &namespace, &place.gpu, &place.migGPU, &place.migCompute, &user, &name, &message, &bytes, &detail)
		e.Time, e.Kind, e.GPU, e.GPUUUID = moment(at), snapshot.EventKind(kind), int(index.Int64), uuids[gpu.Int64]
		if pid.Valid {
			e.Row = snapshot.RowID{GPUUUID: uuids[place.gpu.Int64], Instance: place.instance()}
			e.Row.Process.PID, e.Row.Process.StartTime, e.Row.Process.Namespace = int(pid.Int64), uint64(start.Int64), uint64(namespace.Int64)
		}
		e.User, e.Name, e.Message, e.Bytes = user.String, name.String, message.String, known[quantity.Bytes](bytes, quantity.Computed)
		if failed := new(snapshot.OutOfMemory); detail.Valid && json.Unmarshal([]byte(detail.String), failed) == nil {
			e.OutOfMemory = failed
		}
		events = append(events, e)
		return err
	}, `SELECT e.time_ns, e.kind, e.severity, e.gpu, g.gpu_index, p.pid, p.start_time, p.pid_namespace, p.gpu, p.mig_gpu, p.mig_compute, e.user, e.name, e.message, e.bytes,
			(SELECT o.detail FROM ooms o WHERE e.kind = 'out_of_memory' AND o.time_ns = e.time_ns AND o.process IS e.process)
		FROM events e LEFT JOIN gpus g ON g.gpu = e.gpu LEFT JOIN processes p ON p.process = e.process
		WHERE `+where+` ORDER BY e.time_ns DESC, e.event DESC LIMIT `+strconv.Itoa(limit), args...)
	return events
}
