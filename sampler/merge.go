package sampler

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"syscall"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// identified is the process behind a pid that a source names.
type identified struct {
	info  process.Info
	alive bool   // /proc had it in this tick, and it was no zombie
	named uint64 // the last tick in which a source named it
}

// row is the sampler's memory of a row between ticks.
type row struct {
	latest     *snapshot.Process // the row in the newest snapshot that has it
	seen       uint64            // the tick that last listed it
	came       time.Time         // when it appeared; zero if it was there before the sampler
	peak       snapshot.Bytes
	mismatches int             // reports in a row in which the parts exceeded used
	mismatchAt time.Time       // time of the last of these reports
	outlook    outlook         // of used memory
	allocated  outlook         // of allocated memory, if a probe reports it
	peaks      *snapshot.Peaks // nil if no probe has reported yet
	load       load
	held       bool // the trend would fill the GPU, but memory is expected to stop at a lower level
	oom        quantity.Optional[int64]
}

type merged struct {
	rows            []snapshot.Process
	ended           []snapshot.EndedProcess
	probesAnswering int
	probesUnasked   int
}

// merge joins the figures of the driver, the probes and /proc into rows, one for each process and
// GPU (or MIG instance). The rows are sorted by GPU, instance, pid and start time.
func (s *Sampler) merge(now time.Time, gpus []*gpu) merged {
	var answers []probe.Answer
	listed := 0
	for _, g := range gpus {
		if g.lists() {
			listed += len(g.fresh.Processes)
		}
	}
	m := merged{rows: make([]snapshot.Process, 0, max(listed, len(s.rows)))}
	if s.options.Single {
		s.identify(now, gpus, nil) // while the probes are searched for; Unasked waits for that search
	}
	if s.options.Probes != nil {
		m.probesUnasked = s.options.Probes.Unasked() // before Answers, so that no process is missing from both
		answers = s.options.Probes.Answers()
	}
	s.identify(now, gpus, answers)

	for _, g := range gpus {
		if g.lists() {
			for i := range g.fresh.Processes {
				m.rows = append(m.rows, s.driverRow(g, &g.fresh.Processes[i]))
			}
			continue
		}
		// The list of processes is unknown. The rows stay, without figures, until their processes exit.
		for id, r := range s.rows {
			if id.GPUUUID == g.device.UUID && s.mayLive(id) {
				p := r.latest.WithoutFigures()
				if known := s.byPID[id.Process.PID]; known != nil && known.alive {
					p.CPU, p.Host = known.info.CPU, known.info.Memory // /proc still has these figures
				}
				m.rows = append(m.rows, p)
			}
		}
	}
	m.probesAnswering = s.addProbes(now, &m, answers)
	snapshot.SortRows(m.rows) // before finish, which keeps pointers to the rows
	for i := range m.rows {
		s.finish(now, &m.rows[i])
	}
	m.ended = s.sweep(now)
	for _, g := range gpus {
		g.met = g.met || g.lists()
	}
	return m
}

// identify looks up every pid that a source names, and the pids of the last tick's rows, whose
// processes may have exited.
func (s *Sampler) identify(now time.Time, gpus []*gpu, answers []probe.Answer) {
	pids := make([]int, 0, len(s.byPID)+8)
	name := func(pid int) {
		known := s.byPID[pid]
		if known == nil {
			known = &identified{info: process.Info{Identity: process.Identity{PID: pid}}}
			s.byPID[pid] = known
		} else if known.named == s.sequence {
			return
		}
		known.named = s.sequence
		known.alive = false // the driver may list a process a moment longer than /proc does
		pids = append(pids, pid)
	}
	for _, g := range gpus {
		if g.fresh != nil {
			for i := range g.fresh.Processes {
				name(g.fresh.Processes[i].PID)
			}
		}
	}
	for i := range answers {
		name(answers[i].Process.PID)
	}
	for id := range s.rows {
		name(id.Process.PID)
	}

	s.options.Processes.Processes(now, pids, func(info *process.Info) {
		known := s.byPID[info.Identity.PID]
		known.info, known.alive = *info, !info.Ended
	})
	maps.DeleteFunc(s.byPID, func(_ int, known *identified) bool { return known.named != s.sequence })
}

// mayLive reports whether a process may still run. A foreign process always may.
func (s *Sampler) mayLive(id snapshot.RowID) bool {
	if id.Process.Foreign() {
		return true
	}
	known := s.byPID[id.Process.PID]
	return known != nil && known.alive && known.info.Identity == id.Process
}

// driverRow makes a row with the figures of the driver and of /proc.
func (s *Sampler) driverRow(g *gpu, p *nvml.Process) snapshot.Process {
	r := s.describe(p.PID)
	r.ID.GPUUUID = g.device.UUID
	r.ID.Instance = p.Instance
	r.GPU = g.device.Index
	if r.Type = p.Type.String(); p.Type&nvml.MPS != 0 {
		r.MPSLimit, r.MPSThreads = r.Hints.MPSLimit(g.device.UUID, s.driver.devices), r.Hints.MPSThreads
	}
	r.SMUtilization, r.MemoryUtilization = p.SMUtilization, p.MemoryUtilization
	r.EncoderUtilization, r.DecoderUtilization = p.EncoderUtilization, p.DecoderUtilization
	r.Used = p.Used
	return r
}

func (s *Sampler) describe(pid int) snapshot.Process {
	known := s.byPID[pid]
	info := &known.info
	p := snapshot.Process{
		ID:      snapshot.RowID{Process: info.Identity},
		Parent:  info.Parent,
		User:    info.User,
		UID:     info.UID,
		Name:    info.Name,
		Command: info.Command,
		Started: info.Started,
		Job:     info.Job,
		Hints:   info.Hints,
	}
	if known.alive {
		p.CPU, p.Host = info.CPU, info.Memory
	}
	return p
}

// finish adds a row's peak and forecasts, and remembers the row.
func (s *Sampler) finish(now time.Time, p *snapshot.Process) {
	r := s.rows[p.ID]
	if r == nil {
		r = &row{load: load{like: s.habits.longest(p)}}
		s.rows[p.ID] = r
		if s.arrived(p) {
			r.came = now
			s.history.Append(processEvent(now, snapshot.EventStarted, p, "started"))
		}
	}
	if used, ok := p.Used.Value(); ok {
		r.peak = quantity.From(max(used, r.peak.Or(used)), quantity.Computed)
	}
	p.Peak = r.peak
	s.noteOutOfMemory(now, p, r)
	r.predict(now, p, s.freeBeside(p.ID), paceOf(len(s.rows)))
	r.latest = p
	r.seen = s.sequence
}

// freeBeside returns the free memory of a row's GPU or MIG instance, or math.MaxInt64 if unknown.
func (s *Sampler) freeBeside(id snapshot.RowID) quantity.Bytes {
	const unknown = math.MaxInt64
	g := s.driver.find(id.GPUUUID)
	if g == nil || g.last == nil {
		return unknown
	}
	m := snapshot.Memory(memoryOf(g.last, id.Instance))
	return snapshot.FreeOf(&m).Or(unknown)
}

// arrived reports whether the process of a new row has just come to its GPU. A process in a GPU's
// first list was there before, unless it started after s.began.
func (s *Sampler) arrived(p *snapshot.Process) bool {
	if g := s.driver.find(p.ID.GPUUUID); g != nil && g.met {
		return true
	}
	return p.Started.After(s.began)
}

// noteOutOfMemory takes a probe's count of errors.
func (s *Sampler) noteOutOfMemory(now time.Time, p *snapshot.Process, r *row) {
	if p.Probe == nil {
		return
	}
	count, ok := p.Probe.OutOfMemoryCount.Value()
	if !ok {
		return
	}
	before, known := r.oom.Value()
	switch f := s.failures[p.ID]; {
	case known && count > before:
		s.noteRise(now, p, count)
		r.load = load{rebuilds: true, top: r.load.top, like: r.load.like, peaks: r.load.peaks} // the process loads again
	case !known && count > 0 && f != nil:
		f.logged = 0 // the first count includes the errors of the first report
	}
	r.oom = p.Probe.OutOfMemoryCount
}

// sweep removes the rows that no source listed in this tick.
func (s *Sampler) sweep(now time.Time) []snapshot.EndedProcess {
	var ended []snapshot.EndedProcess
	for id, r := range s.rows {
		if r.seen == s.sequence {
			continue
		}
		delete(s.rows, id)
		g := s.lastRow(now, id, r)
		// The process may have exited since it was looked up.
		running := id.Process.Foreign() || s.options.Processes.Alive(id.Process)
		var signal syscall.Signal
		hostMemoryEnded := false
		if reader, ok := s.options.Processes.(exitReader); ok && !running {
			signal, hostMemoryEnded = noteExit(&g, reader), reader.HostMemoryEnded(id.Process)
		}
		e := endedEvent(now, &g, running, signal, hostMemoryEnded)
		if unknown := hostMemoryEnded && !g.ExitStatus.Known(); (signal != 0 || unknown) && !s.askedToEnd(&e, signal) {
			e.Severity = snapshot.Urgent
		}
		s.history.Append(e)
		ended = append(ended, g)
	}
	sorted.Stable(ended, func(a, b snapshot.EndedProcess) int {
		return cmp.Or(cmp.Compare(a.Last.GPU, b.Last.GPU), cmp.Compare(a.Last.ID.Process.PID, b.Last.ID.Process.PID))
	})
	return ended
}

// lastRow returns the last state of an ended row. A program that exits after an out-of-memory error
// may report that error only in its last report, which no row has shown.
func (s *Sampler) lastRow(now time.Time, id snapshot.RowID, r *row) snapshot.EndedProcess {
	g := snapshot.EndedProcess{Last: *r.latest, Ended: now, OutOfMemoryCount: r.oom}
	if f := s.failures[id]; f != nil && f.logged > 0 {
		g.OutOfMemoryCount = quantity.From(r.oom.Or(0)+int64(f.logged), quantity.Probe)
		if g.Last.Probe != nil {
			last := *g.Last.Probe
			last.OutOfMemoryCount = g.OutOfMemoryCount
			g.Last.Probe = &last
		}
	}
	return g
}

// recentlyEnded returns up to 200 rows that ended in the last three hours, newest first. A row that
// is back has not ended. A row that ended several times is listed once.
func (s *Sampler) recentlyEnded(now time.Time, ended []snapshot.EndedProcess) []snapshot.EndedProcess {
	const keep, limit = 3 * time.Hour, 200
	forgotten := func(g snapshot.EndedProcess) bool {
		_, back := s.rows[g.Last.ID]
		return back || now.Sub(g.Ended) >= keep ||
			slices.ContainsFunc(ended, func(e snapshot.EndedProcess) bool { return e.Last.ID == g.Last.ID })
	}
	if len(ended) == 0 && !slices.ContainsFunc(s.ended, forgotten) {
		return s.ended
	}
	kept := slices.Clone(ended) // a copy: the old slice was published
	for _, g := range s.ended {
		if len(kept) < limit && !forgotten(g) {
			kept = append(kept, g)
		}
	}
	s.ended = kept
	return kept
}
