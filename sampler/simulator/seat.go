package simulator

import (
	"math/rand/v2"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/simulator/allocator"
)

// seat is a place in the story that one task after another takes.
type seat struct {
	role     role
	board    *board
	instance *instance
	random   *rand.Rand
	task     *task
	starts   time.Duration // when the next one starts, while the seat is empty
	pid      int           // that the next one has; 0: the next that is free
}

// visit starts, runs or ends the seat's task.
func (b *Box) visit(s *seat, now time.Duration) {
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

// start fills the seat. Where the GPU has no room for so much as a context,
// somebody tries again a little later.
func (b *Box) start(s *seat, now time.Duration) {
	const again = 15 * time.Second
	if !s.board.frameOf(s.instance).Reserve(s.role.context) {
		s.starts = now + again
		return
	}
	b.nextPID += 3 + s.random.IntN(400)
	if s.pid != 0 {
		b.nextPID = max(b.nextPID, s.pid)
		b.enter(s, b.newTask(s, s.pid, now))
		s.pid = 0
		return
	}
	t := b.newTask(s, b.nextPID, now)
	if t.job.Kind == "slurm" {
		b.nextJob += 1 + s.random.IntN(5)
		t.job.ID = itoa(b.nextJob)
	}
	b.enter(s, t)
}

// resume fills the seat with the task that runs since before the box began to
// live.
func (b *Box) resume(s *seat) {
	if !s.board.frameOf(s.instance).Reserve(s.role.context) {
		return
	}
	t := b.newTask(s, s.role.pid, -s.role.age)
	b.enter(s, t)
	if err := t.program.resume(t, b.at); err != nil {
		t.failed, t.ends = true, b.at
	}
}

func (b *Box) newTask(s *seat, pid int, started time.Duration) *task {
	const hostNamespace, firstNamespace = 4026531836, 4026533000
	t := &task{
		role:     &s.role,
		started:  started,
		job:      s.role.job,
		board:    s.board,
		instance: s.instance,
		frame:    s.board.frameOf(s.instance),
		seed:     b.seed,
		random:   rand.New(rand.NewPCG(b.seed, uint64(pid))),
		program:  s.role.program(),
		identity: process.Identity{PID: pid, Namespace: hostNamespace},
		ends:     never,
	}
	if s.role.life.most > 0 {
		// Who is there when the story begins stays for a life from then on.
		from := started
		if pid == s.role.pid {
			from = 0
		}
		t.ends = from + s.role.life.draw(s.random)
	}
	// A process started before the epoch began between two ticks of the clock
	// like any other: its start time is rounded down to one.
	t.identity.StartTime = uint64((started + uptime) / tick)
	if s.role.nsPID != 0 {
		t.identity.Namespace = firstNamespace + uint64(pid%997)
	}
	if s.role.foreign {
		t.identity = process.Identity{PID: pid}
	}
	if s.role.runtime == pytorch {
		t.cache = allocator.NewCaching(t.frame)
		t.memory = t.cache
	}
	t.probe.schedule(t)
	return t
}

func (b *Box) enter(s *seat, t *task) {
	s.task = t
	b.tasks[t.identity.PID] = t
	s.board.add(t)
}

// end empties the seat until its next task starts.
func (b *Box) end(s *seat, now time.Duration) {
	t := s.task
	t.release()
	delete(b.tasks, t.identity.PID)
	s.board.remove(t)
	s.task = nil
	s.starts = never
	if s.role.pause.most > 0 {
		s.starts = s.mind(now, now+s.role.pause.draw(s.random))
	}
}
