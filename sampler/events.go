package sampler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/sampler/snapshot"
)

func processEvent(now time.Time, kind snapshot.EventKind, p *snapshot.Process, message string) snapshot.Event {
	return snapshot.Event{
		Time: now, Kind: kind, GPU: p.GPU, GPUUUID: p.ID.GPUUUID, Row: p.ID,
		User: p.User, Name: p.ProgramName(), Message: message, Bytes: p.Used,
	}
}

// endedEvent returns the event of a row's end. A process that still runs has only left the GPU. A
// foreign process counts as running.
func endedEvent(now time.Time, g *snapshot.EndedProcess, running bool, signal syscall.Signal, hostMemoryEnded bool) snapshot.Event {
	message := "exited"
	switch status := g.ExitStatus.Or(0); {
	case running:
		message = "left the GPU"
	case hostMemoryEnded && signal == syscall.SIGKILL:
		message = "killed: " + snapshot.HostMemoryEnded
	case signal != 0:
		message = "killed by " + unix.SignalName(signal)
	case status != 0:
		message = fmt.Sprintf("exited with %d", status)
	case hostMemoryEnded && !g.ExitStatus.Known():
		message = "ended"
	}
	if hostMemoryEnded && signal != syscall.SIGKILL { // a child may have been killed instead, or the exit status is unknown
		message += ", " + snapshot.HostMemoryEnded
	}
	if used, ok := g.Last.Used.Value(); ok {
		message += fmt.Sprintf(", used %s", used)
	}
	if peak, ok := g.Last.Peak.Value(); ok { // if the driver did not answer at the end, only the peak is known
		message += fmt.Sprintf(", peak %s", peak)
	}
	if n, ok := g.OutOfMemoryCount.Value(); ok && n > 0 {
		message += fmt.Sprintf(", out of memory x%d (allocator)", n)
	}
	e := processEvent(now, snapshot.EventEnded, &g.Last, message)
	e.Bytes = g.Last.Peak
	return e
}

// noteChanges logs the changes of the driver and its GPUs since the last snapshot.
func (s *Sampler) noteChanges(now time.Time, snap *snapshot.Snapshot) {
	before := s.latest.Load()
	if before == nil {
		return
	}
	s.noteDriver(now, before, snap)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if was := before.GPU(g.UUID); was != nil {
			s.noteXIDs(was, g)
			s.noteGPU(now, before.Time, was, g)
		}
	}
	// A GPU that only probes named disappears when no probe names it.
	maps.DeleteFunc(s.down, func(uuid string, _ time.Time) bool { return snap.GPU(uuid) == nil })
}

func (s *Sampler) noteDriver(now time.Time, before, after *snapshot.Snapshot) {
	was, is := &before.Driver, &after.Driver
	event := snapshot.Event{Time: now, Kind: snapshot.EventDriverBack}
	switch {
	case was.State == snapshot.DriverOK && is.State != snapshot.DriverOK:
		event.Kind, event.Severity = snapshot.EventDriverGone, snapshot.Notice
		event.Message = "the driver went away: " + is.Message
	case was.State == snapshot.DriverGone && is.State == snapshot.DriverOK:
		event.Message = fmt.Sprintf("the driver is back: %s, after %s", is.Version, now.Sub(was.Since).Round(time.Second))
	default:
		return
	}
	s.history.Append(event)
}

// hangingFor is how long a GPU must hang before that is an event. On a busy machine, answers often
// take two or three seconds.
const hangingFor = 5 * time.Second

// isDown reports whether a GPU's state deserves an event.
func isDown(g *snapshot.GPU, now time.Time) bool {
	switch g.State {
	case snapshot.GPUOK:
		return false
	case snapshot.GPUHanging:
		return now.Sub(g.Since) >= hangingFor
	default:
		return true
	}
}

// noteGPU logs once that a GPU is down, and once that it is back.
func (s *Sampler) noteGPU(now, before time.Time, was, is *snapshot.GPU) {
	if _, logged := s.down[is.UUID]; !logged && isDown(was, before) {
		s.down[is.UUID] = was.Since // the GPU was down at the first tick
	}
	since, logged := s.down[is.UUID]
	event := snapshot.Event{Time: now, GPU: is.Index, GPUUUID: is.UUID, Bytes: is.LastUsed}
	switch {
	case !logged && isDown(is, now):
		s.down[is.UUID] = is.Since
		event.Kind, event.Severity = snapshot.EventGPULost, snapshot.Notice
		event.Message = fmt.Sprintf("%s: %s", is.State, is.Message)
		if had, ok := is.LastUsed.Value(); ok {
			event.Message += fmt.Sprintf(", had %s", had)
		}
	case logged && is.State == snapshot.GPUOK:
		delete(s.down, is.UUID)
		event.Kind = snapshot.EventGPUBack
		event.Message = fmt.Sprintf("back after %s", now.Sub(since).Round(time.Second))
	default:
		return
	}
	s.history.Append(event)
}

// noteXIDs logs the new critical errors, oldest first.
func (s *Sampler) noteXIDs(was, is *snapshot.GPU) {
	fresh := is.XIDs
	if len(was.XIDs) > 0 {
		if known := slices.Index(fresh, was.XIDs[0]); known >= 0 {
			fresh = fresh[:known]
		}
	}
	for _, x := range slices.Backward(fresh) {
		s.history.Append(snapshot.Event{
			Time: x.Time, Kind: snapshot.EventXID, Severity: snapshot.Notice, GPU: is.Index, GPUUUID: is.UUID,
			Message: fmt.Sprintf("Xid %d", x.Code),
		})
	}
}

// alertInterval is the shortest time between two applications of the alert rules. The figures of a
// faster sampler contain noise.
const alertInterval = 900 * time.Millisecond

// applyRules applies the alert rules and logs the alerts that they raise and clear. Until the rules are
// applied again, applyRules returns the last alerts. It logs changes of the driver and of GPUs each time.
func (s *Sampler) applyRules(now time.Time, snap *snapshot.Snapshot) []snapshot.Alert {
	s.noteChanges(now, snap)
	if since := now.Sub(s.rulesApplied); since >= 0 && since < alertInterval {
		return s.standing
	}
	s.rulesApplied = now
	alerts := s.alerts.Evaluate(snap)
	s.standing = alerts
	s.history.NoteAlerts(now, alerts)
	for i := range alerts {
		a := &alerts[i]
		at := slices.IndexFunc(s.logged, func(l snapshot.Alert) bool { return l.Key() == a.Key() })
		if at >= 0 {
			s.logged[at] = *a
			continue
		}
		s.logged = append(s.logged, *a)
		s.logAlert(now, snapshot.EventAlarm, a, a.Message)
	}
	s.logged = slices.DeleteFunc(s.logged, func(a snapshot.Alert) bool {
		if s.alerts.Stands(&a) { // even if a worse alert about the same thing is shown instead
			return false
		}
		s.logAlert(now, snapshot.EventCleared, &a, cleared(now, &a))
		return true
	})
	return alerts
}

// cleared returns the message of the event that ends an alert. It does not repeat the alert's
// figures, which no longer hold.
func cleared(now time.Time, a *snapshot.Alert) string {
	what, ok := map[snapshot.AlertKind]string{
		snapshot.AlertFullIn:    "no longer filling up",
		snapshot.AlertLowMemory: "no longer low on memory",
		snapshot.AlertLeak:      "no longer leaking",
		snapshot.AlertThrottled: "no longer throttled",
		snapshot.AlertECC:       "no new ECC errors",
	}[a.Kind]
	if !ok {
		what = "cleared: " + strings.ReplaceAll(string(a.Kind), "_", " ")
	}
	return fmt.Sprintf("%s (%s)", what, now.Sub(a.Since).Round(time.Second))
}

// logAlert logs that an alert was raised or cleared, unless its cause has an event of its own. If
// the alert's process has ended, its name comes from the ended rows.
func (s *Sampler) logAlert(now time.Time, kind snapshot.EventKind, a *snapshot.Alert, message string) {
	switch a.Kind {
	case snapshot.AlertLost, snapshot.AlertHanging, snapshot.AlertDriver, snapshot.AlertXID, snapshot.AlertOutOfMemory:
		return
	default:
	}
	e := snapshot.Event{Time: now, Kind: kind, GPU: a.GPU, GPUUUID: a.GPUUUID, Row: a.Row, Message: message}
	if kind == snapshot.EventAlarm {
		e.Severity = a.Severity
	}
	if p := s.lastOf(a.Row); p != nil {
		e.User, e.Name = p.User, p.ProgramName()
	}
	s.history.Append(e)
}
