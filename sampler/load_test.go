package sampler

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// idler is an old process whose memory a test moves.
type idler struct {
	*box
	s        *Sampler
	used     quantity.Bytes
	alarmed  int // snapshots with the alert full in
	loading  int // snapshots in which the GPU's forecast is withheld because of a load
	unsteady int // snapshots in which the process is not expected to rise far enough to fill the GPU
	lastFull *snapshot.FullIn
}

func newIdler(used quantity.Bytes) *idler {
	b := newBox(1)
	i := &idler{box: b, s: b.sampler(noDeadline), used: used}
	i.move(0, 300)
	return i
}

// move changes the used memory by rate bytes per second.
func (i *idler) move(rate quantity.Bytes, seconds int) {
	i.alarmed, i.loading, i.unsteady = 0, 0, 0
	for range seconds {
		i.used += rate
		i.use("GPU-0", i.used)
		r := i.readings["GPU-0"]
		r.Memory.Free = measured(79*gib - i.used)
		i.readings["GPU-0"] = r
		snap := i.tick(i.s)
		if hasAlert(snap, snapshot.AlertFullIn) != nil {
			i.alarmed++
		}
		if snap.GPUs[0].Doubt == snapshot.Loading {
			i.loading++
		}
		if snap.GPUs[0].Doubt == snapshot.Unsteady && snap.Rows[0].Doubt == snapshot.Unsteady {
			i.unsteady++
		}
		i.lastFull = snap.GPUs[0].FullIn
	}
}

// A notebook that was idle for minutes loads weights, frees them, and loads them again. Neither load
// raises an alert.
func TestLoadOutOfIdlenessIsNoAlert(t *testing.T) {
	i := newIdler(gib)
	for n := range 2 {
		i.move(660*mib, 75)
		if i.alarmed > 0 || i.loading < 60 {
			t.Errorf("%d alarmed, %d loading of 75 s", i.alarmed, i.loading)
		}
		i.move(0, 300)
		if i.alarmed > 0 || i.loading > 100 {
			t.Errorf("after the load %d alarmed, %d loading of 300 s", i.alarmed, i.loading)
		}
		wide := i.s.Latest().GPUs[0].Predicted[5]
		if n == 0 && wide.Upper80-wide.Lower80 > 2*gib { // in the second round, the memory that was freed is in the interval
			t.Errorf("what was forecast while it loaded makes the interval at 10 min %v wide", wide.Upper80-wide.Lower80)
		}
		i.used = gib
		i.move(0, 300)
	}
}

// A process that already has memory takes more. The first time, that counts as a load for at most a
// minute; later, for as long as similar rises took.
func TestLaterRiseIsALoadUntilItHasLastedLonger(t *testing.T) {
	i := newIdler(10 * gib)
	i.move(200*mib, 60)
	if i.alarmed > 0 {
		t.Errorf("a rise of a minute: %d s alarmed", i.alarmed)
	}
	i.move(200*mib, 80)
	if i.alarmed < 15 || i.lastFull == nil {
		t.Errorf("a rise that goes on: %d of 80 s alarmed, full in %v", i.alarmed, i.lastFull)
	}
	i.move(0, 600) // the rise lasted 140 s
	i.used = 10 * gib
	i.move(0, 600)
	i.move(200*mib, 110)
	if i.alarmed > 0 {
		t.Errorf("a rise as long as the last: %d s alarmed", i.alarmed)
	}
	i.move(200*mib, 100)
	if i.alarmed < 20 {
		t.Errorf("a rise that is longer: %d of 100 s alarmed", i.alarmed)
	}
}

// If less than a minute is left, a rise is believed even during a load, unless the rise leads back to
// an earlier level.
func TestRiseIsBelievedInTheLastMinute(t *testing.T) {
	i := newIdler(40 * gib)
	i.move(500*mib, 40) // then 20 of 39 GiB are left, enough for 40 s
	if i.alarmed == 0 {
		t.Error("40 s before it is full there is no alert")
	}
	i = newIdler(40 * gib)
	i.move(500*mib, 20)
	i.move(0, 600)
	i.used = 40 * gib
	i.move(0, 300)
	i.move(500*mib, 20)
	if i.alarmed > 0 {
		t.Errorf("a rise to where it was before: %d s alarmed", i.alarmed)
	}
}

// The memory of a process rises, is freed and rises again. It is not expected to fill the GPU until it
// exceeds the highest earlier peak by as much as the earlier peaks differ.
func TestRiseIsExpectedToGetAsFarAsBefore(t *testing.T) {
	i := newIdler(gib)
	i.move(60*mib, 700) // to 42 GiB
	if i.alarmed < 60 || i.unsteady > 0 {
		t.Errorf("the first rise: %d s alarmed, %d unsteady", i.alarmed, i.unsteady)
	}
	i.used = gib
	i.move(0, 300)
	i.move(60*mib, 670)
	if i.alarmed > 0 || i.unsteady < 60 {
		t.Errorf("a rise to where it was: %d s alarmed, %d unsteady", i.alarmed, i.unsteady)
	}
	i.move(60*mib, 150)
	if i.alarmed < 60 || i.lastFull == nil {
		t.Errorf("a rise that goes on: %d s alarmed", i.alarmed)
	}
	i.used = gib
	i.move(0, 300)
	i.move(60*mib, 870) // to 52 GiB, after 42 and 49
	if i.alarmed > 0 {
		t.Errorf("a rise by what two others differ above both: %d s alarmed", i.alarmed)
	}
	i.move(60*mib, 200)
	if i.alarmed < 20 {
		t.Errorf("a rise by more: %d s alarmed", i.alarmed)
	}
}

// A restarted program is expected to load for as long as before.
func TestCommandsRisesAreRemembered(t *testing.T) {
	var h habits
	notebook := snapshot.Process{User: "alice", Command: []string{"python", "train.py"}}
	*h.longest(&notebook) = 2 * time.Minute
	again, other := notebook, notebook
	again.Command = []string{"python", "train.py"}
	other.User = "bob"
	if *h.longest(&again) != 2*time.Minute || *h.longest(&other) != 0 {
		t.Errorf("%v of the same program, %v of another user's", *h.longest(&again), *h.longest(&other))
	}
	for n := range 10 * maxHabits {
		h.longest(&snapshot.Process{User: string(rune('a' + n)), Name: "x"})
	}
	if len(h.lasted) > maxHabits {
		t.Errorf("%d programs are remembered", len(h.lasted))
	}
}

// A sampler that starts again knows from the recording how long a program's last load took, even if
// the process has ended, and does not raise an alarm in the next load.
func TestNewSamplerKnowsEarlierLoads(t *testing.T) {
	for _, tc := range []struct{ knows, ended bool }{{true, true}, {true, false}, {false, true}} {
		directory := t.TempDir()
		writer := recording.Start(directory, recording.Options{})
		i := newIdler(10 * gib)
		recorded := func(rate quantity.Bytes, seconds int) {
			for range seconds {
				i.move(rate, 1)
				for until := time.Now().Add(testTimeout); writer.Append(i.s.Latest(), nil) != nil && time.Now().Before(until); { // while the writer is behind
					time.Sleep(time.Millisecond)
				}
			}
		}
		recorded(0, 60)
		recorded(150*mib, 240)
		recorded(0, 6000)
		i.used = 15 * gib
		recorded(0, 60)
		if tc.ended {
			r := i.readings["GPU-0"]
			i.readings["GPU-0"] = nvml.Reading{Memory: r.Memory}
			i.tick(i.s)
			r.Processes[0].PID = 200
			i.readings["GPU-0"], i.processes[200] = r, info(200, 2000)
			delete(i.processes, 100)
			recorded(0, 10)
		}
		if err := errors.Join(writer.Close(), i.Close()); err != nil {
			t.Fatal(err)
		}
		i.s = i.sampler(noDeadline)
		i.move(0, 2)
		if before, err := recording.Open(directory); err != nil {
			t.Fatal(err)
		} else if tc.knows {
			warmed(t, i.s, before)
		}
		i.move(0, 600)
		i.move(150*mib, 230)
		if tc.knows == (i.alarmed > 0) {
			t.Errorf("%+v: %d of 230 s alarmed", tc, i.alarmed)
		}
	}
}

// After an out-of-memory error nothing is forecast until memory is steady. A leak after that is forecast.
func TestRebuildingIsNotForecast(t *testing.T) {
	i := newIdler(30 * gib)
	i.answer(100, "GPU-0", 20*gib, gib, 0, 0)
	fail := func(count int64) {
		i.answers[0].At = i.now.Add(time.Second)
		i.answers[0].Report.Devices[0].Allocators[0].OutOfMemoryCount = reported(count)
	}
	fail(0)
	i.move(0, 30)
	fail(1)
	i.used = 20 * gib
	i.move(100*mib, 100)
	g := &i.s.Latest().GPUs[0]
	if g.Doubt != snapshot.Rebuilding || g.FullIn != nil || i.alarmed > 0 || i.s.Latest().Rows[0].Predicted != nil {
		t.Errorf("doubt %q, full in %v, %d s alarmed, %v", g.Doubt, g.FullIn, i.alarmed, i.s.Latest().Rows[0].Predicted)
	}
	i.move(0, 200)
	if g := &i.s.Latest().GPUs[0]; g.Doubt != snapshot.Believed {
		t.Errorf("doubt %q of steady memory", g.Doubt)
	}
	i.move(60*mib, 400)
	if i.alarmed < 100 {
		t.Errorf("a rise after it: %d of 400 s alarmed", i.alarmed)
	}
}

// A notebook that has caught its error and keeps little memory is steady after a while. Then the
// notebook and its GPU have forecasts again.
func TestRebuildingEndsWithLittleMemory(t *testing.T) {
	i := newIdler(30 * gib)
	i.answer(100, "GPU-0", gib, 0, 0, 0)
	fail := func(count int64) {
		i.answers[0].At = i.now.Add(time.Second)
		i.answers[0].Report.Devices[0].Allocators[0].OutOfMemoryCount = reported(count)
	}
	fail(0)
	i.move(0, 30)
	fail(1)
	i.used = 2 * gib
	i.move(0, 60)
	if d := i.s.Latest().GPUs[0].Doubt; d != snapshot.Rebuilding {
		t.Errorf("doubt %q a minute after the error", d)
	}
	i.move(0, 240)
	if g, p := &i.s.Latest().GPUs[0], &i.s.Latest().Rows[0]; g.Doubt != snapshot.Believed || p.Doubt != snapshot.Believed || len(g.Predicted) == 0 || len(p.Predicted) == 0 {
		t.Errorf("after five minutes: GPU %q, %d forecasts; process %q, %d", g.Doubt, len(g.Predicted), p.Doubt, len(p.Predicted))
	}
}

// The errors that a small process reports do not hide the forecast of its GPU.
func TestSmallProcessHidesNoForecast(t *testing.T) {
	i := newIdler(2 * gib)
	i.answer(100, "GPU-0", gib, 0, 0, 0)
	for n := range int64(10) {
		i.answers[0].At = i.now.Add(time.Second)
		i.answers[0].Report.Devices[0].Allocators[0].OutOfMemoryCount = reported(n)
		i.move(0, 30)
		if g := &i.s.Latest().GPUs[0]; g.Doubt == snapshot.Rebuilding || len(g.Predicted) == 0 {
			t.Fatalf("after %d errors: %q, %d forecasts", n, g.Doubt, len(g.Predicted))
		}
	}
}

func TestRiseDuringTrainingStepsIsNoLoad(t *testing.T) {
	for steps, want := range map[int64]bool{0: false, 3: true} {
		i := newIdler(gib)
		i.answer(100, "GPU-0", gib, 0, 0, 0)
		alarmed, made := 0, int64(0)
		for range 150 {
			made += steps
			i.answers[0].At, i.answers[0].Report.Steps = i.now.Add(time.Second), reported(made)
			i.move(400*mib, 1)
			alarmed += i.alarmed
		}
		if want && alarmed < 60 || !want && alarmed > 0 {
			t.Errorf("with %d steps a second %d of 150 s alarmed", steps, alarmed)
		}
	}
}

// If little memory is free because a server has taken it, there is no alert unless memory continues
// to grow.
func TestFullServerIsNotLowOnMemory(t *testing.T) {
	const seconds = 1800
	for name, history := range map[string]func(*rand.Rand) func(second int) quantity.Bytes{
		"noise": func(random *rand.Rand) func(int) quantity.Bytes {
			amplitude := int64(1) << (20 + random.IntN(12))
			return func(int) quantity.Bytes { return 73*gib + quantity.Bytes(random.Int64N(amplitude)) }
		},
		"a load that levels off": func(random *rand.Rand) func(int) quantity.Bytes {
			span := 20 + 200*random.Float64()
			return func(i int) quantity.Bytes {
				return quantity.Bytes(77 * float64(gib) * (1 - math.Exp(-float64(i)/span*3)))
			}
		},
		"a single step": func(random *rand.Rand) func(int) quantity.Bytes {
			at, size := random.IntN(seconds), quantity.Bytes(1+random.IntN(5))*gib
			return func(i int) quantity.Bytes {
				if i < at {
					return 73 * gib
				}
				return 73*gib + size
			}
		},
		"an epoch's sawtooth": func(random *rand.Rand) func(int) quantity.Bytes {
			period := 3 + random.IntN(40)
			return func(i int) quantity.Bytes {
				return 73*gib + quantity.Bytes((i+period-1)%period)*4*gib/quantity.Bytes(period)
			}
		},
		"shrinking": func(*rand.Rand) func(int) quantity.Bytes {
			return func(i int) quantity.Bytes { return 78*gib - quantity.Bytes(i)*3*mib }
		},
		"growing": func(*rand.Rand) func(int) quantity.Bytes {
			return func(i int) quantity.Bytes { return 73*gib + quantity.Bytes(i)*6*mib }
		},
	} {
		alarmed := 0
		for seed := range uint64(5) {
			i := newIdler(gib)
			at := history(rand.New(rand.NewPCG(seed, 11)))
			just := i.processes[100]
			just.Started = i.now
			i.processes[100] = just
			low := false
			for second := range seconds {
				i.used = at(second)
				i.move(0, 1)
				low = low || hasAlert(i.s.Latest(), snapshot.AlertLowMemory) != nil || hasAlert(i.s.Latest(), snapshot.AlertFullIn) != nil
			}
			if low {
				alarmed++
			}
		}
		if want := map[bool]int{true: 5}[name == "growing"]; alarmed != want {
			t.Errorf("%s: %d of 5 alarmed, want %d", name, alarmed, want)
		}
	}
}
