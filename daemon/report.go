package daemon

import (
	"vramscope/daemon/socket"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// logChanges logs changes of the driver, of GPUs and of alerts, and the actions of the guard.
func (d *daemon) logChanges(snap *snapshot.Snapshot, events []snapshot.Event) {
	if state := snap.Driver.State; state != d.driver {
		switch {
		case state == snapshot.DriverOK && d.driver != "":
			d.Log.Info("the driver answers", "version", text.Clean(snap.Driver.Version), "gpus", len(snap.GPUs))
		case state == snapshot.DriverAbsent || state == snapshot.DriverNotLoaded || state == snapshot.DriverNoCgo || state == snapshot.DriverGone:
			d.Log.Warn("the driver cannot be read; it is tried again", "state", string(state), "error", text.Clean(snap.Driver.Message))
		}
		d.driver = state
		if d.ready {
			d.Notify.Status(d.sentence(snap))
		}
	}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case snapshot.EventGPULost, snapshot.EventXID:
			d.Log.Warn(text.Clean(e.Message), "gpu", e.GPU, "event", string(e.Kind))
		case snapshot.EventGPUBack, snapshot.EventAlarm, snapshot.EventCleared, snapshot.EventGuard,
			snapshot.EventRescued, snapshot.EventNotRescued, snapshot.EventIdleServer:
			d.Log.Info(text.Clean(e.Message), "gpu", e.GPU, "event", string(e.Kind))
		case snapshot.EventFlush:
			if e.Decision != nil {
				d.Log.Info(text.Clean(e.Message), "gpu", e.GPU, "event", string(e.Kind))
			}
		}
	}
}

// logRecording logs once that the recording pauses, and once that it resumes.
func (d *daemon) logRecording(failed error) *metric.Recorder {
	state := d.Recorder.Counts()
	paused := text.Clean(state.Reason)
	if failed != nil && paused == "" {
		paused = text.Clean(failed.Error())
	}
	state.Paused = paused != ""
	switch {
	case paused == d.paused:
		return &state
	case paused == "":
		d.Log.Info("recording goes on")
	case d.paused == "":
		d.Log.Warn("recording paused", "reason", paused)
	}
	d.paused = paused
	d.Notify.Status(d.sentence(d.Sampling.Latest()))
	return &state
}

// sentence returns the status that systemctl status shows.
func (d *daemon) sentence(snap *snapshot.Snapshot) string {
	s := text.Plural(len(snap.GPUs), "GPU", "GPUs")
	if snap.Driver.State != snapshot.DriverOK {
		s = "no driver (" + string(snap.Driver.State) + ")"
	}
	switch {
	case d.paused != "":
		s += "; recording paused: " + d.paused
	case d.Recorder != nil:
		s += "; recording"
	}
	if d.Guard != nil {
		state := d.Guard.State()
		if state.Cannot != "" {
			s += "; guard cannot act: " + text.Clean(state.Cannot)
		} else {
			s += "; guard " + string(state.Mode)
		}
	}
	if snap.Simulated {
		s += "; simulated"
	}
	return s
}

// logGuard logs once that the guard cannot act, and once that it can again.
func (d *daemon) logGuard() {
	cannot := d.Guard.State().Cannot
	switch cannot {
	case d.cannot:
		return
	case "":
		d.Log.Info("the guard can act again")
	default:
		d.Log.Error("the guard cannot act", "error", text.Clean(cannot))
	}
	d.cannot = cannot
	d.Notify.Status(d.sentence(d.Sampling.Latest()))
}

// status returns the daemon's status for clients. The clients' goroutines call it.
func (d *daemon) status() socket.Status {
	status := socket.Status{Since: schema.Time(d.began), Recording: "off", Leases: d.Leases != nil}
	if latest := d.Sampling.Latest(); latest != nil {
		status.IntervalNS, status.Simulated = int64(latest.Interval), latest.Simulated
	}
	if d.Recorder != nil {
		status.Recording = "recording"
		if status.Reason = d.Recorder.Counts().Reason; status.Reason != "" {
			status.Recording = "paused"
		}
	}
	return status
}
