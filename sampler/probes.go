package sampler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// The ages at which a probe's stats become stale, and at which the probe is silent.
const (
	staleAfter  = 3 * time.Second
	silentAfter = 10 * time.Second
	// comparable is the longest time between two readings that can show a mismatch.
	comparable = 250 * time.Millisecond
	// confirmed is how many such readings in a row make a mismatch.
	confirmed = 3
)

// addProbes puts the probes' stats into the rows, and adds rows for the processes that the driver
// does not list. It returns how many probes are not silent.
func (s *Sampler) addProbes(now time.Time, m *merged, answers []probe.Answer) int {
	defer s.forgetProbeOnly(now)
	defer maps.DeleteFunc(s.reports, func(_ snapshot.RowID, r *reports) bool { return r.seen != s.sequence })
	defer s.forgetFailures(now, answers)
	answering := 0
	if len(answers) == 0 {
		return 0
	}
	place := make(map[snapshot.RowID]int, len(m.rows))
	for i := range m.rows {
		place[m.rows[i].ID] = i
	}
	limits := limits{s, now, m.rows, make(map[snapshot.Place]*deviceLimit), make(map[process.Identity]quantity.Bytes)}
	for i := range answers {
		a := &answers[i]
		if a.Daemon && !s.adopt(a) {
			continue
		}
		if a.Exited != nil {
			s.noteRecord(now, a)
			continue
		}
		// The answer may be newer than the start of the tick.
		age := max(now.Sub(a.At), 0)
		if age < silentAfter && !a.At.IsZero() && s.mayLive(snapshot.RowID{Process: a.Process}) {
			answering++
		}
		switch {
		case a.At.IsZero() && a.Err != nil: // for example, the process is stopped, or the probe breaks the protocol
			m.setProbe(a.Process, snapshot.Probe{State: snapshot.ProbeSilent, Age: max(now.Sub(a.Since), 0)})
		case !a.At.IsZero() && len(a.Report.Devices) == 0: // the process has no allocator, or none yet
			m.setProbe(a.Process, probeOf(a, age))
		}
		for j := range a.Report.Devices {
			s.addDevice(now, m, place, &limits, a, &a.Report.Devices[j])
		}
	}
	limits.rows = m.rows // rows that probes added may have reallocated the slice
	for i := range m.rows {
		m.rows[i].Evictable = limits.caches(&m.rows[i])
	}
	s.probeSeen = s.probeSeen || slices.ContainsFunc(m.rows, func(p snapshot.Process) bool { return p.Probe != nil && p.Probe.State != snapshot.ProbeSilent })
	return answering
}

// setProbe sets a probe without stats in the rows of a process.
func (m *merged) setProbe(id process.Identity, p snapshot.Probe) {
	for i := range m.rows {
		if m.rows[i].ID.Process == id {
			m.rows[i].Probe = &p
		}
	}
}

func probeOf(a *probe.Answer, age time.Duration) snapshot.Probe {
	return snapshot.Probe{State: freshness(age), Age: age, StartedBy: a.Hello.StartedBy, Capabilities: a.Hello.Capabilities, ByDaemon: a.Daemon}
}

// addDevice puts the report on one device into its row. place has the index of each row of m. The
// last report of an exited process makes no row, because its pid may have been reused.
func (s *Sampler) addDevice(now time.Time, m *merged, place map[snapshot.RowID]int, limits *limits, a *probe.Answer, d *probe.Device) {
	id, age := s.locate(a, d), max(now.Sub(a.At), 0)
	at, listed := place[id]
	if !listed {
		s.noteFailures(now, id, s.lastOf(id), d)
		if age >= silentAfter || len(d.Allocators) == 0 || !s.driver.admits(id.GPUUUID) || !s.mayLive(id) || !s.nameDevice(now, id.GPUUUID, d) {
			return
		}
		p := s.describe(a.Process.PID)
		p.ID = id
		p.GPU = s.indexOf(id.GPUUUID)
		m.rows = append(m.rows, p)
		at = len(m.rows) - 1
		place[id] = at
	}
	p := &m.rows[at]
	s.noteFailures(now, id, p, d)
	if a.Report.Steps.Known() && age < silentAfter {
		p.Steps, p.Optimizer = a.Report.Steps, a.Report.Optimizer
	}
	reported := probeOf(a, age)
	p.Probe = &reported
	if len(a.Hello.Runtimes) > 0 {
		p.Runtime, p.RuntimeVersion = a.Hello.Runtimes[0].Name, a.Hello.Runtimes[0].Version
	}
	if reported.State == snapshot.ProbeSilent {
		p.ClearParts()
		return
	}
	shown, limit, rejected := limits.check(p, d, span{a.At, cmp.Or(a.Arrived, a.At)})
	if p.Probe.Rejected = rejected; shown.device == nil {
		p.Probe.Doubted = rejected == ""
		return
	}
	if age := max(now.Sub(shown.at), 0); age > p.Probe.Age {
		p.Probe.Age = age
		if age >= staleAfter {
			p.Probe.State = snapshot.ProbeStale // not silent: the probe answers
		}
	}
	p.Evictable = slices.Clone(a.Hello.Evictable)
	for i := range shown.device.Allocators {
		al := allocator(shown.device.Allocators[i], limits.size(p, d))
		p.Allocators = append(p.Allocators, al)
		p.Probe.OutOfMemoryCount = quantity.Sum(p.Probe.OutOfMemoryCount, al.OutOfMemoryCount)
		p.Probe.AllocRetries = quantity.Sum(p.Probe.AllocRetries, al.AllocRetries)
	}
	s.sumParts(p, limit, shown)
}

// locate returns the row of a probe's device, which the probe names by the UUID of a GPU or MIG instance.
func (s *Sampler) locate(a *probe.Answer, d *probe.Device) snapshot.RowID {
	id := snapshot.RowID{Process: a.Process, GPUUUID: d.UUID}
	for _, g := range s.driver.gpus {
		if g.last == nil || g.device.UUID == d.UUID {
			continue
		}
		for i := range g.last.Instances {
			if g.last.Instances[i].UUID == d.UUID {
				id.GPUUUID = g.device.UUID
				id.Instance = g.last.Instances[i].ID
			}
		}
	}
	return id
}

// sumParts makes the process's parts the sums over its allocators:
//
//	used = Σ (allocated + cached + fragmented) + other
//
// While the driver's and the probe's readings are skewed, other is unknown. Returnable memory is at
// most limit: the process's used memory or, if unknown, the most that the process can use.
func (s *Sampler) sumParts(p *snapshot.Process, limit quantity.Bytes, shown report) {
	var reserved, pending snapshot.Bytes
	bounded := false // reserved is a lower bound
	for i := range p.Allocators {
		al := &p.Allocators[i]
		own := al.Reserved
		if !own.Known() { // reserved memory is at least the sum of its parts
			own = quantity.Sum(al.Allocated, al.Cached, al.Fragmented)
			bounded = bounded || !al.Cached.Known()
		}
		reserved = quantity.Sum(reserved, own)
		p.Allocated = quantity.Sum(p.Allocated, al.Allocated)
		p.Cached = quantity.Sum(p.Cached, al.Cached)
		p.Fragmented = quantity.Sum(p.Fragmented, al.Fragmented)
		p.Returnable = quantity.Sum(p.Returnable, al.Returnable)
		p.Asleep = quantity.Sum(p.Asleep, al.Asleep)
		pending = quantity.Sum(pending, al.Pending)
	}
	held, known := reserved.Value()
	if returnable, ok := p.Returnable.Value(); ok {
		cached := p.Cached.Or(returnable)
		if known {
			cached = min(cached, max(held-p.Allocated.Or(0)-p.Fragmented.Or(0), 0))
		}
		cached += min(pending.Or(0), p.Allocated.Or(0))
		p.Returnable = quantity.From(min(returnable, cached, limit), quantity.Computed)
		if !p.ReturnableKnown() {
			p.Returnable = snapshot.Bytes{}
		}
	}
	if !p.FragmentedKnown() {
		p.Fragmented = snapshot.Bytes{} // some allocator does not know its part
	}
	if !known {
		return
	}
	p.Other = s.otherOf(p, held, span{shown.at, shown.arrived})
	p.Probe.Skewed = p.Used.Known() && !p.Other.Known()
	if other := p.Other.Or(0); bounded || -other > snapshot.Tolerance(p.Used.Or(0)) {
		p.Other = snapshot.Bytes{} // reserved is a lower bound, or the report was accepted by an older reading
	}
	s.noteMismatch(p, shown.at, held)
}

// noteMismatch sets Mismatch if held, the memory of the allocators, exceeds the process's used memory
// in several comparable readings in a row. If used memory is unknown, the GPU's is the limit.
func (s *Sampler) noteMismatch(p *snapshot.Process, at time.Time, held quantity.Bytes) {
	r, g := s.rows[p.ID], s.driver.find(p.ID.GPUUUID)
	if r == nil {
		return
	}
	if g != nil && g.fresh != nil {
		used, ok := p.Used.Value()
		if !ok {
			used, ok = g.fresh.Memory.Used.Value()
		}
		switch {
		case !ok || held <= used:
			r.mismatches = 0
		case g.fresh.Time.Sub(at).Abs() <= comparable && !at.Equal(r.mismatchAt):
			r.mismatches++
			r.mismatchAt = at
		}
	}
	p.Probe.Mismatch = r.mismatches >= confirmed
}

func freshness(age time.Duration) snapshot.ProbeState {
	switch {
	case age < staleAfter:
		return snapshot.ProbeLive
	case age < silentAfter:
		return snapshot.ProbeStale
	default:
		return snapshot.ProbeSilent
	}
}

// adopt replaces the identity in a daemon's answer by the identity that the process has here,
// because this user may not read the pid namespaces of other users' processes. It returns false if
// the pid is missing here, or is another process's.
func (s *Sampler) adopt(a *probe.Answer) bool {
	known := s.byPID[a.Process.PID]
	if known == nil || !known.info.Identity.Same(a.Process) {
		return false
	}
	a.Process = known.info.Identity
	return true
}
