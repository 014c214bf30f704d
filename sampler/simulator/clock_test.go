package simulator_test

import (
	"sync"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/simulator"
)

// clock is a clock that tests set. Stories begin at its start.
type clock struct {
	mu    sync.Mutex
	start time.Time
	now   time.Time
}

func newClock() *clock {
	start := time.Date(2026, 3, 14, 12, 4, 17, 0, time.UTC)
	return &clock{start: start, now: start}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// set sets the clock to so long after its start.
func (c *clock) set(since time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.start.Add(since)
}

// box is a simulated box with its clock.
type box struct {
	*simulator.Box
	clock   *clock
	devices []nvml.Device
}

func open(t testing.TB, options simulator.Options) *box {
	t.Helper()
	c := newClock()
	c.set(-options.Prelude)
	options.Clock = c.Now
	b, err := simulator.New(options)
	if err != nil {
		t.Fatal(err)
	}
	_, devices, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	return &box{Box: b, clock: c, devices: devices}
}

// moment is all readings of a box at one time.
type moment struct {
	Readings  []nvml.Reading
	Errors    []string
	Answers   []probe.Answer
	Processes map[int]process.Info
	Host      process.Host
}

// look sets the clock and takes all readings.
func (b *box) look(since time.Duration) moment {
	b.clock.set(since)
	m := moment{Readings: make([]nvml.Reading, len(b.devices)), Errors: make([]string, len(b.devices))}
	var pids []int
	for i, d := range b.devices {
		r, err := b.Read(d)
		if err != nil {
			m.Errors[i] = err.Error()
		}
		m.Readings[i] = r
		for _, p := range r.Processes {
			pids = append(pids, p.PID)
		}
	}
	m.Answers = b.Answers()
	for _, a := range m.Answers {
		pids = append(pids, a.Process.PID)
	}
	m.Processes = make(map[int]process.Info)
	b.Processes(b.clock.Now(), pids, func(info *process.Info) { m.Processes[info.Identity.PID] = *info })
	m.Host = b.Host(b.clock.Now())
	return m
}

// owned finds the process of a user on a GPU that runs the given command.
func (m moment) owned(gpu int, user, command string) (nvml.Process, bool) {
	for _, p := range m.Readings[gpu].Processes {
		info := m.Processes[p.PID]
		for _, word := range info.Command {
			if info.User == user && word == command {
				return p, true
			}
		}
	}
	return nvml.Process{}, false
}

// answer finds a process's answer.
func (m moment) answer(pid int) (probe.Answer, bool) {
	for _, a := range m.Answers {
		if a.Process.PID == pid {
			return a, true
		}
	}
	return probe.Answer{}, false
}

// full is how much of a GPU's capacity is used.
func (m moment) full(gpu int) float64 {
	memory := m.Readings[gpu].Memory
	return float64(memory.Used.Or(0)) / float64(memory.Total.Or(0)-memory.Reserved.Or(0))
}
