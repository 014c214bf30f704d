package simulator

import (
	"math/rand/v2"
	"strconv"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/simulator/allocator"
)

// slot runs the tasks of a role one after the other.
type slot struct {
	role     role
	board    *board
	instance *instance
	frame    *frame // of the GPU, or of the instance
	random   *rand.Rand
	task     *task
	starts   time.Duration // when the next task starts, while the slot is empty
	pid      int           // the pid of the next task; 0: the next free pid
}

func (b *Box) visit(s *slot, now time.Duration) {
	if s.task == nil && now >= s.starts {
		b.start(s, now)
	}
	if t := s.task; t != nil {
		t.run(now)
		if now >= t.ends {
			b.end(s, now)
		}
	}
}

// start starts the next task. If the GPU has no room for a context, the slot tries again later.
func (b *Box) start(s *slot, now time.Duration) {
	const again = 15 * time.Second
	if !s.frame.Reserve(s.role.context) {
		s.starts = now + again
		return
	}
	b.nextPID += 3 + s.random.IntN(400)
	if s.pid != 0 {
		b.nextPID = max(b.nextPID, s.pid)
		b.newTask(s, s.pid, now)
		s.pid = 0
		return
	}
	t := b.newTask(s, b.nextPID, now)
	if t.job.Kind == "slurm" {
		b.nextJob += 1 + s.random.IntN(5)
		t.job.ID = strconv.Itoa(b.nextJob)
	}
}

// resume fills the slot with a task that was started before the prelude.
func (b *Box) resume(s *slot) {
	if !s.frame.Reserve(s.role.context) {
		return
	}
	b.nextPID = max(b.nextPID, s.role.pid)
	t := b.newTask(s, s.role.pid, -s.role.age)
	if err := t.program.resume(t, b.at); err != nil {
		t.failed, t.ends = true, b.at
	}
}

func (b *Box) newTask(s *slot, pid int, started time.Duration) *task {
	const hostNamespace, firstNamespace = 4026531836, 4026533000
	t := &task{
		slot:     s,
		box:      b,
		started:  started,
		job:      s.role.job,
		random:   rand.New(rand.NewPCG(b.seed, uint64(pid))),
		program:  s.role.program(),
		identity: process.Identity{PID: pid, Namespace: hostNamespace},
		ends:     never,
	}
	if s.role.life.longest > 0 {
		// A task that runs when the story begins lives for life from then on.
		from := started
		if pid == s.role.pid {
			from = 0
		}
		t.ends = from + s.role.life.draw(s.random)
	}
	// started may be negative, and started + uptime is not: the quotient is rounded down.
	t.identity.StartTime = uint64((started + uptime) / tick)
	if s.role.nsPID != 0 {
		t.identity.Namespace = firstNamespace + uint64(pid%997)
	}
	if s.role.foreign {
		t.identity = process.Identity{PID: pid}
	}
	if s.role.runtime == pytorch {
		t.cache = allocator.NewCaching(t.frame)
		t.cache.Observe = t.observe
	}
	t.probe.phase = time.Duration(t.identity.PID%int(reportEvery/step)) * step
	s.task = t
	b.tasks[t.identity.PID] = t
	s.board.add(t)
	return t
}

func (b *Box) end(s *slot, now time.Duration) {
	t := s.task
	t.release()
	delete(b.tasks, t.identity.PID)
	s.board.remove(t)
	s.task = nil
	s.starts = never
	if s.role.pause.longest > 0 {
		s.starts = s.reschedule(now, now+s.role.pause.draw(s.random))
	}
}

// MaxPrelude is the longest prelude. If it were longer, too few programs would run when the prelude begins.
const MaxPrelude = 45 * time.Minute

// prepare sets up the slot's first task at the beginning of the prelude. The task is running, starts
// in the prelude, or starts later.
func (b *Box) prepare(s *slot) {
	r := &s.role
	switch begins := -r.age; {
	case r.age > 0 && begins <= b.at:
		b.resume(s)
	case r.age > 0:
		s.pid, s.starts = r.pid, begins
	case b.at < 0:
		// The previous task has ended.
		s.starts = s.reschedule(b.at, b.at+span{0, r.pause.shortest}.draw(s.random))
	default:
		s.starts = r.first
	}
}

// reschedule returns when the next task starts: at starts, or at r.first if a task from starts on might
// still run at r.first.
func (s *slot) reschedule(now, starts time.Duration) time.Duration {
	r := &s.role
	if r.age == 0 && now < r.first && starts+r.life.longest+r.pause.shortest > r.first {
		return r.first
	}
	return starts
}

// within returns the time since the beginning of the period, also for a negative now (the prelude).
func within(now, period time.Duration) time.Duration {
	return ((now % period) + period) % period
}
