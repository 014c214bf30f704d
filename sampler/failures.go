package sampler

import (
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// failures holds which of a row's failed allocations have been logged.
type failures struct {
	answered time.Time               // the last time that there was a row or an answer
	newest   int64                   // time of the newest error that was considered, Unix ns
	logged   int                     // errors logged since the count of errors last rose
	call     *probe.FailedAllocation // newest call that the driver refused; logged only if the count of errors rises too
}

// noteFailures logs the new errors. Of the refused calls, it only keeps the newest. p is as from lastOf.
func (s *Sampler) noteFailures(now time.Time, id snapshot.RowID, p *snapshot.Process, d *probe.Device) {
	if len(d.OutOfMemory) == 0 || p == nil {
		return
	}
	f := s.failures[id]
	if f == nil {
		f = &failures{newest: s.began.UnixNano()} // errors from before s.began are not logged
		s.failures[id] = f
	}
	for i := range d.OutOfMemory {
		failed := &d.OutOfMemory[i]
		if failed.TimeNS <= f.newest {
			continue
		}
		f.newest = failed.TimeNS
		if failed.API != "" {
			f.call = failed
			continue
		}
		f.logged++
		s.logFailure(now, p, d, failed)
	}
}

// noteRise logs that a probe's count of errors has risen, unless the errors were logged already.
func (s *Sampler) noteRise(now time.Time, p *snapshot.Process, count int64) {
	f := s.failures[p.ID]
	switch {
	case f != nil && f.logged > 0:
		f.logged = 0
	case f != nil && f.call != nil:
		s.logFailure(now, p, nil, f.call)
		f.call = nil
	default:
		event := processEvent(now, snapshot.EventOutOfMemory, p, fmt.Sprintf("out of memory x%d (allocator)", count))
		event.Severity = snapshot.Urgent
		s.history.Append(event)
	}
}

func (s *Sampler) logFailure(now time.Time, p *snapshot.Process, d *probe.Device, failed *probe.FailedAllocation) {
	at := quantity.Earlier(time.Unix(0, failed.TimeNS), now) // a time slightly after now passes the probe's check
	message := "out of memory: asked for " + failed.Bytes.String()
	if free, known := failed.Free.Value(); known {
		message += ", " + free.String() + " free"
	}
	event := processEvent(at, snapshot.EventOutOfMemory, p, message)
	event.Severity = snapshot.Urgent
	event.OutOfMemory = &snapshot.OutOfMemory{
		Requested: quantity.From(failed.Bytes, quantity.Probe), Free: failed.Free, Limit: failed.Limit,
		Allocator: failed.Allocator, Reserved: failed.Reserved, Allocated: failed.Allocated,
		LargestFree: failed.LargestFree, API: failed.API, Library: failed.Library,
		Config: settingsOf(failed.Allocator, d, p), Stack: failed.Stack, Trace: failed.Trace, MPSLimit: p.MPSLimit, Held: failed.Held,
	}
	s.history.Append(event)
	s.failed = append(s.failed, event)
}

// failedFor is how long snapshots list a failed allocation, because a program that failed is often
// started again within minutes. mostFailed limits the list.
const failedFor, mostFailed = 10 * time.Minute, 200

func (s *Sampler) recentlyFailed(now time.Time) []snapshot.Event {
	for len(s.failed) > 0 && (now.Sub(s.failed[0].Time) > failedFor || len(s.failed) > mostFailed) {
		s.failed = s.failed[1:]
	}
	return slices.Clip(s.failed)
}

// settingsOf returns the settings of an allocator, from the report or else from the row.
func settingsOf(kind string, d *probe.Device, p *snapshot.Process) string {
	all := p.Allocators
	if d != nil {
		all = slices.Concat(d.Allocators, all)
	}
	for i := range all {
		if all[i].Kind == kind && all[i].Config != "" {
			return all[i].Config
		}
	}
	return ""
}

// lastOf returns the newest state of a row, ended or not; nil if unknown.
func (s *Sampler) lastOf(id snapshot.RowID) *snapshot.Process {
	if r := s.rows[id]; r != nil {
		return r.latest
	}
	if ended := snapshot.Find(s.ended, func(e *snapshot.EndedProcess) bool { return e.Last.ID == id }); ended != nil {
		return &ended.Last
	}
	return nil
}

// noteRecord logs the errors in the record that an exited process left, even if the process never
// had a row. It skips a row of another user: that row is of another process.
func (s *Sampler) noteRecord(now time.Time, a *probe.Answer) {
	for i := range a.Report.Devices {
		d := &a.Report.Devices[i]
		id := s.locate(a, d)
		p := s.lastOf(id)
		switch {
		case p != nil && p.UID.Known() && p.UID.Or(0) != a.Exited.UID.Or(0):
			continue
		case p == nil && s.driver.find(id.GPUUUID) == nil:
			continue // only the record names this GPU
		case p == nil:
			p = &snapshot.Process{ID: id, GPU: s.indexOf(id.GPUUUID), User: a.Exited.User, UID: a.Exited.UID, Command: a.Exited.Command}
		}
		s.noteFailures(now, id, p, d)
	}
}

// recordsFor is how long a record may arrive after its process has exited.
const recordsFor = time.Minute

// forgetFailures drops the failures of a row that has ended and whose process has not been in
// answers for recordsFor.
func (s *Sampler) forgetFailures(now time.Time, answers []probe.Answer) {
	for id, f := range s.failures {
		answering := s.rows[id] != nil // the failures are needed until the row has ended
		for i := range answers {
			answering = answering || answers[i].Process == id.Process
		}
		switch {
		case answering:
			f.answered = now
		case now.Sub(f.answered) > recordsFor:
			delete(s.failures, id)
		}
	}
}
