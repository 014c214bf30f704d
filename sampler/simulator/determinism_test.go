package simulator_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/simulator"
)

func (m moment) encode(t *testing.T) string {
	t.Helper()
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Calls must not change the story: one box is sampled every 470 ms, the other only when the boxes are
// compared.
func TestSameSeedGivesTheSameStory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, prelude := range []time.Duration{0, 10 * time.Minute} {
		watched, left := open(t, simulator.Options{Seed: 5, Prelude: prelude}), open(t, simulator.Options{Seed: 5, Prelude: prelude})
		looks := 0
		for at := -prelude; at <= 20*time.Minute; at += 470 * time.Millisecond {
			m := watched.look(at)
			if looks++; looks%73 != 0 {
				continue
			}
			if got, want := left.look(at).encode(t), m.encode(t); got != want {
				t.Fatalf("after %s the boxes differ:\n%s\n%s", at, got, want)
			}
		}
	}
}

func TestAnotherSeedGivesAnotherStory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	one, other := open(t, simulator.Options{Seed: 1}), open(t, simulator.Options{Seed: 2})
	if one.look(time.Hour).encode(t) == other.look(time.Hour).encode(t) {
		t.Error("the seed changes nothing")
	}
}

func TestClockThatGoesBackStopsTheStory(t *testing.T) {
	b := open(t, simulator.Options{})
	before := b.look(5 * time.Minute)
	b.look(4 * time.Minute)
	after := b.look(5 * time.Minute)
	if before.encode(t) != after.encode(t) {
		t.Error("the story went on, or back, with a clock that went back")
	}
}

func TestBoxHasAsManyGPUsAsAskedFor(t *testing.T) {
	for gpus := 1; gpus <= simulator.MaxGPUs; gpus++ {
		if got := len(open(t, simulator.Options{GPUs: gpus}).devices); got != gpus {
			t.Errorf("asked for %d GPUs, got %d", gpus, got)
		}
	}
}

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

// set sets the clock to a time after its start.
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
	b := simulator.New(options)
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

// full returns how much of a GPU's capacity is used.
func (m moment) full(gpu int) float64 {
	memory := m.Readings[gpu].Memory
	return float64(memory.Used.Or(0)) / float64(memory.Total.Or(0)-memory.Reserved.Or(0))
}
