package sampler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
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
// context back has left the GPU; it has not ended, and of another container's
// nobody here can tell.
func endedEvent(now time.Time, g *snapshot.EndedProcess, left bool) snapshot.Event {
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
		if was := before.GPU(g.UUID); was != nil {
			s.noteXIDs(was, g)
			s.noteGPU(now, before.Time, was, g)
		}
	}
	for uuid := range s.down {
		if snap.GPU(uuid) == nil { // only probes named it, and none does now
			delete(s.down, uuid)
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

// hangingFor is how long a GPU must have been silent before the log says so: on
// a busy box an answer that takes two or three seconds is an ordinary thing.
const hangingFor = 5 * time.Second

// isDown reports whether a GPU is in a state that is news.
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

// noteGPU logs once that a GPU is down, and that it is back.
func (s *Sampler) noteGPU(now, before time.Time, was, is *snapshot.GPU) {
	if _, told := s.down[is.UUID]; !told && isDown(was, before) {
		s.down[is.UUID] = was.Since // told by the process that this one goes on from, or there from the first
	}
	since, told := s.down[is.UUID]
	event := snapshot.Event{Time: now, GPU: is.Index, GPUUUID: is.UUID, Bytes: is.LastUsed}
	switch {
	case !told && isDown(is, now):
		s.down[is.UUID] = is.Since
		event.Kind, event.Severity = snapshot.EventGPULost, snapshot.Notice
		event.Message = fmt.Sprintf("%s: %s", is.State, is.Message)
		if had, ok := is.LastUsed.Value(); ok {
			event.Message += fmt.Sprintf(", had %s", had)
		}
	case told && is.State == snapshot.GPUOK:
		delete(s.down, is.UUID)
		event.Kind = snapshot.EventGPUBack
		event.Message = fmt.Sprintf("back after %s", now.Sub(since).Round(time.Second))
	default:
		return
	}
	s.history.log.Append(event)
}

// noteXIDs logs the critical errors that are new, in the order of their coming.
func (s *Sampler) noteXIDs(was, is *snapshot.GPU) {
	fresh := is.XIDs
	if len(was.XIDs) > 0 {
		if known := slices.Index(fresh, was.XIDs[0]); known >= 0 {
			fresh = fresh[:known]
		}
	}
	for _, x := range slices.Backward(fresh) {
		s.history.log.Append(snapshot.Event{
			Time: x.Time, Kind: snapshot.EventXID, Severity: snapshot.Notice, GPU: is.Index, GPUUUID: is.UUID,
			Message: fmt.Sprintf("Xid %d", x.Code),
		})
	}
}
