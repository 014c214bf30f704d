package alert

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const nearlyFull = 73 * quantity.GiB // of 79 GiB: 6 GiB or 7.6 % are free

func TestLowMemoryWithALeak(t *testing.T) {
	s := newScene()
	s.row(0).Returnable = bytes(quantity.GiB)
	s.use(0, 71*quantity.GiB+350*quantity.MiB)
	s.ticks(60)
	s.calm(t, "before it grows")
	s.row(0).GrowthPerSecond = bytes(25 * quantity.MiB)
	if at := s.until(snapshot.AlertLowMemory, 60, nil); at != 2 {
		t.Fatalf("raised after %d s", at)
	}
	a := *s.alert(snapshot.AlertLowMemory)
	if a.Severity != snapshot.Notice || a.Row != s.row(0).ID || a.Advice != "F on 100 frees 1.00G now" ||
		a.Note != "7.66G free, growing" || a.Message != "GPU 0 has 7.66G free of 80.0G, PID 100 alice grows" {
		t.Errorf("got %+v", a)
	}
	s.row(0).GrowthPerSecond = snapshot.Bytes{}
	s.ticks(55)
	if !s.has(snapshot.AlertLowMemory) {
		t.Error("growth is forgotten too early")
	}
	s.ticks(30)
	s.calm(t, "a minute after it has stopped growing")
}

// Neither the growth of a process that loads nor a process that shrinks is a reason for an alert.
func TestLowMemoryWithoutGrowth(t *testing.T) {
	for name, change := range map[string]func(p *snapshot.Process){
		"just started": func(p *snapshot.Process) { p.Started, p.GrowthPerSecond = noon, bytes(quantity.GiB) },
		"shrinks":      func(p *snapshot.Process) { p.GrowthPerSecond = bytes(-quantity.GiB) },
		"unknown":      func(p *snapshot.Process) { p.Trend = snapshot.TrendGrowing },
	} {
		s := newScene()
		s.use(0, nearlyFull)
		change(s.row(0))
		s.ticks(200)
		s.calm(t, name)
	}
}

func TestLowMemoryWithAStrainedAllocator(t *testing.T) {
	for _, tc := range []struct {
		name   string
		strain func(*snapshot.Process)
		note   string
	}{
		{"retries", func(p *snapshot.Process) { p.Probe.AllocRetries = count(1) }, "6.00G free, retries"},
		{"out of memory", func(p *snapshot.Process) { p.Probe.OutOfMemoryCount = count(1) }, "6.00G free, OOM"},
	} {
		s := newScene()
		s.use(0, nearlyFull)
		s.ticks(600)
		s.calm(t, tc.name+": before")
		tc.strain(s.row(0))
		s.ticks(3)
		a := s.alert(snapshot.AlertLowMemory)
		if a == nil || a.Severity != snapshot.Urgent || a.Note != tc.note {
			t.Fatalf("%s: %+v", tc.name, s.standing)
		}
		s.ticks(130)
		s.calm(t, tc.name+": two minutes later")

		s = newScene()
		s.ticks(3)
		tc.strain(s.row(0))
		if at := s.until(snapshot.AlertLowMemory, 100, nil); at >= 0 {
			t.Errorf("%s: raised with 69 GiB free", tc.name)
		}
	}
}

func TestLowMemoryDoesNotFlashAtTheThreshold(t *testing.T) {
	s := newScene()
	limit := 79*quantity.GiB - 79*quantity.GiB/10
	raised := 0
	for i := range 600 {
		s.row(0).Probe.AllocRetries = count(int64(i)) // strain all the time
		s.use(0, limit+quantity.Bytes(i%2*400-100)*quantity.MiB)
		before := s.has(snapshot.AlertLowMemory)
		s.tick()
		if s.has(snapshot.AlertLowMemory) != before {
			raised++
		}
	}
	if raised != 0 {
		t.Errorf("%d changes while every other sample is low", raised)
	}
	for i := range 600 {
		s.row(0).Probe.AllocRetries = count(int64(1000 + i))
		used := limit + 500*quantity.MiB
		if i > 10 && i%20 < 10 {
			used = limit - 500*quantity.MiB
		}
		s.use(0, used)
		before := s.has(snapshot.AlertLowMemory)
		s.tick()
		if s.has(snapshot.AlertLowMemory) != before {
			raised++
		}
	}
	if raised != 1 {
		t.Errorf("%d changes, want the one that raised it", raised)
	}
	s.use(0, 20*quantity.GiB)
	s.ticks(5)
	s.calm(t, "when there is room again")
}

func TestLowMemoryThreshold(t *testing.T) {
	for _, tc := range []struct {
		fraction float64
		used     quantity.Bytes
		want     bool
	}{{0.05, nearlyFull, false}, {0.05, 77 * quantity.GiB, true}, {0.5, 45 * quantity.GiB, true}, {-1, 78 * quantity.GiB, false}} {
		s := newScene()
		s.evaluator = New(tc.fraction, nil)
		at := s.until(snapshot.AlertLowMemory, 30, func(i int) {
			s.use(0, tc.used)
			s.row(0).Probe.AllocRetries = count(int64(i))
		})
		if (at >= 0) != tc.want {
			t.Errorf("%v with %v used: raised at %d", tc.fraction, tc.used, at)
		}
	}
}

func TestLowMemoryWithoutProcessFigures(t *testing.T) {
	s := newScene()
	s.use(0, nearlyFull)
	s.row(0).Used = snapshot.Bytes{}
	s.gpu(0).Memory.Free = snapshot.Bytes{}
	s.ticks(60)
	s.calm(t, "before it is forecast to be full")
	s.gpu(0).FullIn = &snapshot.FullIn{Median: time.Hour}
	at := s.until(snapshot.AlertLowMemory, 60, nil)
	if a := s.alert(snapshot.AlertLowMemory); at < 0 || a.Row != (snapshot.RowID{}) || a.Advice != "" {
		t.Errorf("at %d: %+v", at, s.standing)
	}
}

func TestLowMemoryOfAnInstance(t *testing.T) {
	s := newScene()
	g := s.gpu(0)
	g.MIG = true
	first, second := snapshot.InstanceID{MIG: true, GPU: 1}, snapshot.InstanceID{MIG: true, GPU: 5}
	g.Instances = []snapshot.Instance{
		{ID: first, Memory: snapshot.Memory{Total: bytes(40 * quantity.GiB), Free: bytes(quantity.GiB)}},
		{ID: second, Memory: snapshot.Memory{Total: bytes(20 * quantity.GiB), Free: bytes(quantity.GiB)}},
	}
	s.row(0).ID.Instance = second
	s.row(0).GrowthPerSecond = bytes(25 * quantity.MiB)
	at := s.until(snapshot.AlertLowMemory, 60, nil)
	if at < 0 || len(s.standing) != 1 || s.standing[0].Message != "GPU 0:2 has 1.00G free of 20.0G, PID 100 alice grows" {
		t.Errorf("at %d: %+v", at, s.standing)
	}
}

func TestClockSetBack(t *testing.T) {
	s := newScene()
	s.tick()
	s.row(0).Probe.OutOfMemoryCount = count(1)
	s.use(0, nearlyFull)
	s.ticks(10)
	s.now = s.now.Add(-time.Hour)
	s.ticks(6)
	s.calm(t, "an hour earlier")
}

func TestLowMemoryNamesTheLargestGrowingProcess(t *testing.T) {
	s := newScene()
	other := *s.row(0)
	other.ID.Process.PID, other.User = 99, ""
	s.snap.Rows = append(s.snap.Rows, other)
	s.use(0, 74*quantity.GiB+51*quantity.MiB)
	s.row(0).Used, s.row(0).GrowthPerSecond = bytes(30*quantity.GiB), bytes(25*quantity.MiB)
	s.row(2).Used, s.row(2).GrowthPerSecond = bytes(31*quantity.GiB), bytes(35*quantity.MiB)
	at := s.until(snapshot.AlertLowMemory, 60, nil)
	if at < 0 || s.standing[0].Row != s.row(2).ID || s.standing[0].Message != "GPU 0 has 4.95G free of 80.0G, PID 99 grows" {
		t.Fatalf("at %d: %+v", at, s.standing)
	}
	s.row(0).Used = bytes(40 * quantity.GiB)
	s.ticks(20)
	if s.standing[0].Row != s.row(2).ID {
		t.Error("the alert has changed its subject")
	}
	s.snap.Rows = s.snap.Rows[:2]
	s.tick()
	if a := s.alert(snapshot.AlertLowMemory); a == nil || a.Row != s.row(0).ID {
		t.Errorf("when it has ended: %+v", a)
	}
}

// The alerts clear at once, because the memory that the process used is free.
func TestAlertsOfAnExitedProcessClearAtOnce(t *testing.T) {
	s := newScene()
	s.use(0, nearlyFull)
	s.row(0).Probe.AllocRetries = count(1)
	s.gpu(0).FullIn = &snapshot.FullIn{Median: 4 * time.Minute}
	s.ticks(3)
	s.row(0).Probe.AllocRetries = count(2)
	s.ticks(3)
	if !s.has(snapshot.AlertLowMemory) && !s.has(snapshot.AlertFullIn) {
		t.Fatalf("no alert before: %+v", s.standing)
	}
	s.use(0, 2*quantity.GiB)
	s.gpu(0).FullIn = nil
	s.snap.Rows = s.snap.Rows[1:]
	s.tick()
	s.calm(t, "a second after it was killed")
}
