package alert

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const nearlyFull = 73 * quantity.GiB // of 79, so 6 GiB or 7.6 % are free

func TestLowMemoryWithALeak(t *testing.T) {
	s := newScene()
	s.row(0).Returnable = bytes(quantity.GiB)
	at := s.until(snapshot.AlertLowMemory, 60, func(i int) {
		s.use(0, 71*quantity.GiB-100*quantity.MiB+quantity.Bytes(i)*25*quantity.MiB)
	})
	if at < 10 || at > 20 {
		t.Fatalf("raised after %d s", at)
	}
	a := *s.alert(snapshot.AlertLowMemory)
	if a.Severity != snapshot.Notice || a.Row != s.row(0).ID || a.Advice != "F on 100 frees 1.00G now" ||
		a.Note != "7.66G free, growing" || a.Message != "GPU 0 has 7.66G free of 80.0G, PID 100 alice grows" {
		t.Errorf("got %+v", a)
	}
	s.ticks(55)
	if !s.has(snapshot.AlertLowMemory) {
		t.Error("growth is forgotten too early")
	}
	s.ticks(30)
	s.calm(t, "a minute after it has stopped growing")
}

func TestLowMemoryWithSteps(t *testing.T) {
	s := newScene()
	at := s.until(snapshot.AlertLowMemory, 400, func(i int) {
		s.use(0, nearlyFull+quantity.Bytes(i/25)*100*quantity.MiB)
	})
	if at < 60 || at > 180 {
		t.Errorf("raised after %d s", at)
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
	at := s.until(snapshot.AlertLowMemory, 60, func(i int) {
		s.use(0, nearlyFull+quantity.Bytes(i)*25*quantity.MiB)
		s.row(0).Used = snapshot.Bytes{}
		s.gpu(0).Memory.Free = snapshot.Bytes{}
	})
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
	at := s.until(snapshot.AlertLowMemory, 60, func(i int) {
		s.row(0).Used = bytes(quantity.Bytes(i) * 25 * quantity.MiB)
	})
	if at < 0 || len(s.standing) != 1 || s.standing[0].Message != "GPU 0:2 has 1.00G free of 20.0G, PID 100 alice grows" {
		t.Errorf("at %d: %+v", at, s.standing)
	}
}

// None of these raises an alert, with any seed.
func TestNormalLoadsRaiseNoAlert(t *testing.T) {
	const seconds = 1800
	histories := map[string]func(*rand.Rand) func(s *scene, second int){
		"a server that preallocates": func(random *rand.Rand) func(*scene, int) {
			begin := 20 + random.IntN(60)
			return func(s *scene, i int) {
				s.row(0).Started = noon.Add(time.Duration(begin-10) * time.Second)
				used := 500 * quantity.MiB
				switch {
				case i > begin+30:
					used = 75 * quantity.GiB
				case i > begin:
					used += quantity.Bytes(i-begin) * 2 * quantity.GiB // its weights
				}
				s.use(0, used)
			}
		},
		"noise": func(random *rand.Rand) func(*scene, int) {
			amplitude := int64(1) << (20 + random.IntN(12))
			return func(s *scene, _ int) { s.use(0, nearlyFull+quantity.Bytes(random.Int64N(amplitude))) }
		},
		"a warm-up that levels off": func(random *rand.Rand) func(*scene, int) {
			span := 20 + 200*random.Float64()
			return func(s *scene, i int) {
				s.row(0).Started = noon
				s.use(0, quantity.Bytes(77*float64(quantity.GiB)*(1-math.Exp(-float64(i)/span*3))))
			}
		},
		"a single step": func(random *rand.Rand) func(*scene, int) {
			at, size := random.IntN(seconds), quantity.Bytes(1+random.IntN(5))*quantity.GiB
			return func(s *scene, i int) {
				used := nearlyFull
				if i >= at {
					used += size
				}
				s.use(0, used)
			}
		},
		"an epoch's sawtooth": func(random *rand.Rand) func(*scene, int) {
			period := 3 + random.IntN(40)
			return func(s *scene, i int) { // begins at its top
				s.use(0, nearlyFull+quantity.Bytes((i+period-1)%period)*4*quantity.GiB/quantity.Bytes(period))
			}
		},
		"shrinking": func(*rand.Rand) func(*scene, int) {
			return func(s *scene, i int) { s.use(0, 78*quantity.GiB-quantity.Bytes(i)*3*quantity.MiB) }
		},
	}
	for name, history := range histories {
		for seed := range uint64(30) {
			s := newScene()
			step := history(rand.New(rand.NewPCG(seed, 11)))
			for i := range seconds {
				step(s, i)
				if s.tick(); len(s.standing) > 0 {
					t.Errorf("%s, seed %d, second %d: %+v", name, seed, i, s.standing[0])
					break
				}
			}
		}
	}
}

func TestGrowthAtAnyInterval(t *testing.T) {
	for _, interval := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute} {
		var g growth
		now := noon
		grew := time.Duration(-1)
		for grew < 0 && now.Sub(noon) < time.Hour {
			age := now.Sub(noon)
			g.add(now, bytes(quantity.Bytes(age.Seconds()*25*float64(quantity.MiB))), false)
			if g.growing() {
				grew = age
			}
			now = now.Add(interval)
		}
		if most := max(16*time.Second, 4*slotSamples*interval); grew < 0 || grew > most {
			t.Errorf("at %v: seen after %v, want at most %v", interval, grew, most)
		}
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
	grow := func(i int) {
		s.use(0, nearlyFull+quantity.Bytes(i)*60*quantity.MiB)
		s.row(0).Used = bytes(30*quantity.GiB + quantity.Bytes(i)*25*quantity.MiB)
		s.row(2).Used = bytes(31*quantity.GiB - 100*quantity.MiB + quantity.Bytes(i)*35*quantity.MiB)
	}
	at := s.until(snapshot.AlertLowMemory, 60, grow)
	if at < 0 || s.standing[0].Row != s.row(2).ID || s.standing[0].Message != "GPU 0 has 4.95G free of 80.0G, PID 99 grows" {
		t.Fatalf("at %d: %+v", at, s.standing)
	}
	for i := at; i < at+20; i++ {
		grow(i)
		s.row(0).Used = bytes(40*quantity.GiB + quantity.Bytes(i)*25*quantity.MiB)
		s.tick()
	}
	if s.standing[0].Row != s.row(2).ID {
		t.Error("the alert has changed its subject")
	}
	s.snap.Rows = s.snap.Rows[:2]
	s.tick()
	if a := s.alert(snapshot.AlertLowMemory); a == nil || a.Row != s.row(0).ID {
		t.Errorf("when it has ended: %+v", a)
	}
}

// TestAlertsOfAnExitedProcessClearAtOnce: the memory that it used is free.
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
