package sampler

import (
	"fmt"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// processEvent is an event about a row.
func processEvent(now time.Time, kind snapshot.EventKind, p *snapshot.Process, message string) snapshot.Event {
	return snapshot.Event{
		Time: now, Kind: kind, GPU: p.GPU, GPUUUID: p.ID.GPUUUID, Row: p.ID,
		User: p.User, Name: programName(p), Message: message, Bytes: p.Used,
	}
}

// programName is the program that a process runs: "train.py", where comm would
// say "python3.11" of every second process on the box.
func programName(p *snapshot.Process) string {
	name, _, _ := strings.Cut(process.ShortCommand(p.Command, p.Name), " ")
	return name
}

func startedEvent(now time.Time, p *snapshot.Process) snapshot.Event {
	return processEvent(now, snapshot.EventStarted, p, "started")
}

func outOfMemoryEvent(now time.Time, p *snapshot.Process, count int64) snapshot.Event {
	e := processEvent(now, snapshot.EventOutOfMemory, p, fmt.Sprintf("out of memory x%d (allocator)", count))
	e.Severity = snapshot.Urgent
	return e
}

// endedEvent says what a process left behind. A process that only gave its
// context back has left the GPU; it has not ended.
func endedEvent(now time.Time, g *snapshot.Gone, left bool) snapshot.Event {
	var b strings.Builder
	b.WriteString("ended")
	if left {
		b.Reset()
		b.WriteString("left the GPU")
	}
	used, usedKnown := g.Last.Used.Value()
	peak, peakKnown := g.Last.Peak.Value()
	switch {
	case usedKnown && peakKnown:
		fmt.Fprintf(&b, ": was %s, peak %s", used, peak)
	case usedKnown:
		fmt.Fprintf(&b, ": was %s", used)
	case peakKnown: // it ended while the driver was away
		fmt.Fprintf(&b, ": peak %s", peak)
	}
	if n, ok := g.OutOfMemoryCount.Value(); ok && n > 0 {
		fmt.Fprintf(&b, ", out of memory x%d (allocator)", n)
	}
	e := processEvent(now, snapshot.EventEnded, &g.Last, b.String())
	e.Bytes = g.Last.Peak
	return e
}

// noteChanges logs what has become of the driver and its GPUs since the
// previous snapshot.
func (s *Sampler) noteChanges(now time.Time, snap *snapshot.Snapshot) {
	before := s.latest.Load()
	if before == nil {
		before = s.before
	}
	if before == nil {
		return
	}
	s.noteDriver(now, before, snap)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		for j := range before.GPUs {
			if before.GPUs[j].UUID == g.UUID {
				s.noteGPU(now, &before.GPUs[j], g)
			}
		}
	}
}

func (s *Sampler) noteDriver(now time.Time, before, after *snapshot.Snapshot) {
	was, is := &before.Driver, &after.Driver
	switch {
	case s.restarted && is.State == snapshot.DriverOK:
		s.restarted = false
		s.history.log.Append(snapshot.Event{
			Time: now, Kind: snapshot.EventDriverBack, Message: upgraded(was.Version, is.Version),
		})
	case was.State == snapshot.DriverOK && is.State != snapshot.DriverOK:
		s.history.log.Append(snapshot.Event{
			Time: now, Kind: snapshot.EventDriverGone, Severity: snapshot.Notice,
			Message: "the driver went away: " + is.Message,
		})
	case was.State == snapshot.DriverGone && is.State == snapshot.DriverOK:
		s.history.log.Append(snapshot.Event{
			Time: now, Kind: snapshot.EventDriverBack,
			Message: fmt.Sprintf("the driver is back: %s, after %s", is.Version, now.Sub(was.Since).Round(time.Second)),
		})
	}
}

func (s *Sampler) noteGPU(now time.Time, was, is *snapshot.GPU) {
	event := snapshot.Event{Time: now, GPU: is.Index, GPUUUID: is.UUID, Bytes: is.LastUsed}
	switch {
	case was.State == snapshot.GPUOK && is.State != snapshot.GPUOK:
		event.Kind, event.Severity = snapshot.EventGPULost, snapshot.Notice
		event.Message = fmt.Sprintf("%s: %s", is.State, is.Message)
		if had, ok := is.LastUsed.Value(); ok {
			event.Message += fmt.Sprintf(", had %s", had)
		}
	case was.State != snapshot.GPUOK && is.State == snapshot.GPUOK:
		event.Kind = snapshot.EventGPUBack
		event.Message = fmt.Sprintf("back after %s", now.Sub(was.Since).Round(time.Second))
	case len(is.XIDs) > 0 && (len(was.XIDs) == 0 || is.XIDs[0] != was.XIDs[0]):
		event.Kind, event.Severity = snapshot.EventXID, snapshot.Notice
		event.Bytes = quantity.Optional[quantity.Bytes]{}
		event.Message = fmt.Sprintf("Xid %d", is.XIDs[0].Code)
	default:
		return
	}
	s.history.log.Append(event)
}
