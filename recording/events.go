package recording

import (
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// writeEvent records an event, and what it is about in a table of its own.
func (d *day) writeEvent(e *snapshot.Event, snap *snapshot.Snapshot) {
	at := e.Time.UnixNano()
	gpu, process := d.subjects(e.GPUUUID, e.Row)
	if process == nil && e.Kind == snapshot.EventOutOfMemory && e.Row.Process.PID != 0 {
		process = d.insertUnseen(at, e, gpu)
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

// writeDecision records what the guard decided.
func (d *day) writeDecision(at int64, of *snapshot.GuardDecision, gpu, process any) {
	migGPU, migCompute := instanceColumns(of.Instance)
	d.exec(`INSERT INTO decisions (time_ns, kind, rule, gpu, mig_gpu, mig_compute, process, user, name, level,
		free_bytes, goal_bytes, expected_bytes, measured_bytes, reason, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		at, of.Kind, words(of.Rule), gpu, migGPU, migCompute, process, words(of.User), words(of.Name), words(of.Level),
		number(of.Free), number(of.Goal), number(of.Expected), number(of.Measured), words(of.Reason), words(of.Message))
}

// writeOOM records an out-of-memory error with what was known at that tick.
func (d *day) writeOOM(at int64, e *snapshot.Event, snap *snapshot.Snapshot, gpu, process any) {
	var m snapshot.Memory
	if g := snap.GPU(e.GPUUUID); g != nil {
		m = g.Memory
	}
	var p snapshot.Process
	if row := snap.Row(e.Row); row != nil {
		p = *row
	} else if ended := snap.EndedRow(e.Row); ended != nil {
		p = ended.Last
	}
	var requested, detail any
	if e.OutOfMemory != nil {
		failed := *e.OutOfMemory
		for _, s := range []*string{&failed.Allocator, &failed.API, &failed.Library, &failed.Config} {
			*s = text.Clean(*s)
		}
		requested, detail = number(failed.Requested), encoded(&failed)
	}
	d.exec(`INSERT INTO ooms (time_ns, gpu, process, message, gpu_total_bytes, gpu_used_bytes, gpu_free_bytes,
		used_bytes, allocated_bytes, cached_bytes, fragmented_bytes, requested_bytes, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		at, gpu, process, text.Clean(e.Message), number(m.Total), number(m.Used), number(m.Free),
		number(p.Used), number(p.Allocated), number(p.Cached), number(p.Fragmented), requested, detail)
}

// subjects are the IDs of a GPU and a row, nil where there is none.
func (d *day) subjects(uuid string, row snapshot.RowID) (gpu, process any) {
	if uuid == "" {
		uuid = row.GPUUUID
	}
	if g := d.gpus[uuid]; g != nil {
		gpu = g.id
	} else if uuid != "" {
		gpu = d.gpuID(uuid, d.last)
	}
	if r := d.rows[row]; r != nil {
		process = r.id
	} else if row.Process.PID != 0 {
		id := row.Process
		migGPU, migCompute := instanceColumns(row.Instance)
		if found := d.find(findProcess, id.PID, int64(id.StartTime), int64(id.Namespace), gpu, migGPU, migCompute); found != 0 {
			process = found
		}
	}
	return gpu, process
}

// insertUnseen inserts the process of an event that exited before any tick showed it.
func (d *day) insertUnseen(at int64, e *snapshot.Event, gpu any) int64 {
	id := e.Row.Process
	migGPU, migCompute := instanceColumns(e.Row.Instance)
	return d.exec(`INSERT INTO processes (pid, start_time, pid_namespace, gpu, mig_gpu, mig_compute, user, name, first_ns, last_ns, ended_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id.PID, int64(id.StartTime), int64(id.Namespace), gpu, migGPU, migCompute, words(e.User), words(e.Name), at, at, at)
}

// alertKey identifies an alert from one tick to the next.
type alertKey struct {
	kind     snapshot.AlertKind
	gpu      string
	instance snapshot.InstanceID
	row      snapshot.RowID
}

// writeAlerts records the alerts that are new, and those that are cleared.
func (d *day) writeAlerts(now int64, snap *snapshot.Snapshot) {
	standing := make(map[alertKey]bool, len(snap.Alerts))
	for i := range snap.Alerts {
		a := &snap.Alerts[i]
		key := alertKey{a.Kind, a.GPUUUID, a.Instance, a.Row}
		standing[key] = true
		if _, known := d.alerts[key]; known {
			continue
		}
		gpu, process := d.subjects(a.GPUUUID, a.Row)
		migGPU, migCompute := instanceColumns(a.Instance)
		id := d.exec("INSERT INTO alerts (from_ns, since_ns, kind, severity, gpu, mig_gpu, mig_compute, process, note, message, advice) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			now, orNull(nanoseconds(a.Since)), a.Kind, a.Severity, gpu, migGPU, migCompute, process, text.Clean(a.Note), text.Clean(a.Message), text.Clean(a.Advice))
		d.alerts[key] = id
		d.writeForecasts(id, now, a, snap, gpu, process)
	}
	for key, id := range d.alerts {
		if !standing[key] {
			d.exec("UPDATE alerts SET to_ns = ? WHERE alert = ?", now, id)
			delete(d.alerts, key)
		}
	}
}

// writeForecasts records what was forecast of an alert's GPU, instance or row.
func (d *day) writeForecasts(alert, now int64, a *snapshot.Alert, snap *snapshot.Snapshot, gpu, process any) {
	var predicted []snapshot.Prediction
	var full *snapshot.FullIn
	if g := snap.GPU(a.GPUUUID); g != nil {
		predicted, full = g.Predicted, g.FullIn
		if in := g.Instance(a.Instance); a.Instance.MIG && in != nil {
			predicted, full = in.Predicted, in.FullIn
		}
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
		d.exec(`INSERT INTO forecasts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, alert, now, gpu, process, int64(p.Horizon/time.Nanosecond),
			int64(p.Median), int64(p.Lower80), int64(p.Upper80), int64(p.Lower95), int64(p.Upper95), median, earliest, latest)
	}
}
