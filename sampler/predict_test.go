package sampler

import (
	"reflect"
	"testing"
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

const mib = quantity.MiB

// leaks makes GPU 0 and its process grow by 32 MiB a second, from 40 GiB, for some seconds.
func leaks(b *box, s *Sampler, seconds int) (last *snapshot.Snapshot) {
	for i := range seconds {
		b.use("GPU-0", 40*gib+quantity.Bytes(i+1)*32*mib)
		last = b.tick(s)
	}
	return last
}

// noDeadline makes a tick wait for its GPUs even on a slow machine.
func noDeadline(o *Options) { o.Deadline = time.Minute }

func fullIn(t *testing.T, got *snapshot.FullIn, want, tolerance time.Duration) {
	t.Helper()
	if got == nil {
		t.Fatalf("nothing is said of becoming full, want it in %v", want)
	}
	if got.Median < want-tolerance || got.Median > want+tolerance || got.Earliest > got.Median {
		t.Errorf("full in %v from %v on, want in %v ± %v", got.Median, got.Earliest, want, tolerance)
	}
}

func hasAlert(snap *snapshot.Snapshot, kind snapshot.AlertKind) *snapshot.Alert {
	for i := range snap.Alerts {
		if snap.Alerts[i].Kind == kind {
			return &snap.Alerts[i]
		}
	}
	return nil
}

func TestMIGInstanceIsForecast(t *testing.T) {
	b := newBox(1)
	b.migrate(true)
	inside := func(used quantity.Bytes) {
		r := b.readings["GPU-0"]
		instance := nvml.InstanceID{MIG: true, GPU: 1}
		r.Instances = []nvml.Instance{{
			ID: instance, UUID: "MIG-1", Profile: "3g.40gb", Slices: 3, Whole: 7,
			Memory: nvml.Memory{Total: measured(40 * gib), Used: measured(used)},
		}}
		r.Processes = []nvml.Process{{PID: 100, Type: nvml.Compute, Used: measured(used), Instance: instance}}
		b.readings["GPU-0"] = r
	}
	s := b.sampler(noDeadline)
	var snap *snapshot.Snapshot
	for i := range 600 {
		inside(10*gib + quantity.Bytes(i+1)*32*mib)
		snap = b.tick(s)
	}
	g := &snap.GPUs[0]
	if g.FullIn != nil {
		t.Errorf("the GPU as a whole is full in %v: its instances decide", g.FullIn)
	}
	if in := &g.Instances[0]; in.Slices != 3 || in.Whole != 7 {
		t.Errorf("instance %+v", in)
	}
	fullIn(t, g.Instances[0].FullIn, time.Duration((30<<10-600*32)/32)*time.Second, 15*time.Second)
	a := hasAlert(snap, snapshot.AlertFullIn)
	if a == nil || a.Instance != g.Instances[0].ID || a.Row.Process.PID != 100 ||
		a.Note[:8] != "0:1 full" || a.Message[:12] != "GPU 0:1 full" {
		t.Errorf("alert %+v", a)
	}

	// Another instance with the same number has another forecaster.
	r := b.readings["GPU-0"]
	r.Instances = append([]nvml.Instance(nil), r.Instances...)
	r.Instances[0].UUID = "MIG-2"
	b.readings["GPU-0"] = r
	if in := b.tick(s).GPUs[0].Instances[0]; in.FullIn != nil || in.Predicted != nil {
		t.Errorf("a new instance: %+v", in)
	}
	// The past has figures only.
	if past, ok := s.History().At(snap.Time); !ok || past.GPUs[0].Instances[0].FullIn != nil || past.GPUs[0].Instances[0].Predicted != nil {
		t.Errorf("the past forecasts: %v, %+v", ok, past)
	}
}

// A process causes doubt only about its own MIG instance.
func TestMIGInstanceIsDoubted(t *testing.T) {
	b := newBox(1)
	b.migrate(true)
	s := b.sampler(noDeadline)
	doubts := func(second int) (in, whole snapshot.Doubt) {
		r := b.readings["GPU-0"]
		r.Instances, r.Processes = nil, nil
		for k := range 2 {
			id, used := nvml.InstanceID{MIG: true, GPU: uint32(k + 1)}, 2*gib
			if k == 0 {
				used += quantity.Bytes(max(second-300, 0)) * 400 * mib
			}
			r.Instances = append(r.Instances, nvml.Instance{
				ID: id, UUID: "MIG-" + string(rune('1'+k)), Profile: "3g.40gb", Slices: 3,
				Memory: nvml.Memory{Total: measured(40 * gib), Used: measured(used)},
			})
			r.Processes = append(r.Processes, nvml.Process{PID: 100 + k, Type: nvml.Compute, Used: measured(used), Instance: id})
		}
		b.readings["GPU-0"], b.processes[101] = r, info(101, 1001)
		g := &b.tick(s).GPUs[0]
		if other := g.Instances[1].Doubt; second >= 30 && other != snapshot.Believed {
			t.Errorf("%d s: the other instance is %q", second, other)
		}
		return g.Instances[0].Doubt, g.Doubt
	}
	for second := range 360 {
		in, whole := doubts(second)
		loading := second > 320
		if second >= 30 && (whole != snapshot.Believed || !loading && second < 300 && in != snapshot.Believed || loading && in != snapshot.Loading) {
			t.Fatalf("%d s: the instance is %q, the GPU as a whole %q", second, in, whole)
		}
	}
}

func TestRestartedProcessHasANewForecaster(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	if old := leaks(b, s, 120).Rows[0]; len(old.Predicted) == 0 || old.Trend == snapshot.TrendYoung {
		t.Fatalf("nothing was learnt: %+v", old)
	}
	again := info(100, 2000)
	if !reflect.DeepEqual(again.Command, b.processes[100].Command) {
		t.Fatal("the command is another")
	}
	b.processes[100] = again
	b.tick(s)
	if p := b.tick(s).Rows[0]; p.ID.Process != again.Identity || p.Trend != snapshot.TrendYoung || p.Predicted != nil {
		t.Errorf("after its second tick: %+v", p)
	}
}

func TestCrashClearsFullInAtOnce(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	if hasAlert(leaks(b, s, 1100), snapshot.AlertFullIn) == nil {
		t.Fatal("the leak is not announced")
	}
	b.use("GPU-0", 0)
	delete(b.processes, 100)
	r := b.readings["GPU-0"]
	r.Processes = nil
	b.readings["GPU-0"] = r
	snap := b.tick(s)
	if a := hasAlert(snap, snapshot.AlertFullIn); a != nil || snap.GPUs[0].FullIn != nil {
		t.Errorf("an empty GPU will be full: %+v, %+v", a, snap.GPUs[0].FullIn)
	}
}

// Memory continues to grow while vramscope is suspended.
func TestForecastsSurviveAPause(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	leaks(b, s, 300)
	const pause = 400 * time.Second
	b.now = b.now.Add(pause)
	var snap *snapshot.Snapshot
	for i := range 3 {
		b.use("GPU-0", 40*gib+quantity.Bytes(300+400+i)*32*mib)
		snap = b.tick(s)
	}
	free := 79*gib - bytesOf(t, snap.GPUs[0].Memory.Used)
	fullIn(t, snap.GPUs[0].FullIn, time.Duration(free/(32*mib))*time.Second, time.Minute)
}

// A cache that grows is not a leak. A leak into a cache is a leak, although used memory does not grow.
func TestLeakIsOfAllocatedMemory(t *testing.T) {
	for _, c := range []struct {
		name            string
		used, allocated quantity.Bytes // growth per second
		want            snapshot.Trend
	}{
		{"cache that grows", 16 * mib, 0, snapshot.TrendGrowing},
		{"leak", 16 * mib, 16 * mib, snapshot.TrendLeak},
		{"leak into the cache", 0, 16 * mib, snapshot.TrendLeak},
		{"nothing", 0, 0, snapshot.TrendSteady},
	} {
		b := newBox(1)
		s := b.sampler(noDeadline)
		var p snapshot.Process
		for second := range quantity.Bytes(1500) {
			i := max(second-899, 0) // a plateau, then growth
			used, allocated := 30*gib+i*c.used, 10*gib+i*c.allocated
			b.use("GPU-0", used)
			b.answer(100, "GPU-0", allocated, used-gib-allocated, 0, 0)
			b.answers[0].At = b.now.Add(time.Second)
			p = b.tick(s).Rows[0]
		}
		if p.Trend != c.want {
			t.Errorf("%s: trend %d, want %d", c.name, p.Trend, c.want)
		}
		if rate, ok := p.GrowthPerSecond.Value(); c.want == snapshot.TrendLeak && (!ok || rate < 15*mib || rate > 17*mib) {
			t.Errorf("%s: grows by %v a second", c.name, rate)
		}
		minute := p.PredictedAllocated[2]
		if want := 10*gib + (600+60)*c.allocated; minute.Median < want-64*mib || minute.Median > want+64*mib {
			t.Errorf("%s: %v allocated in a minute, want %v", c.name, minute.Median, want)
		}
	}
}

func TestStaleProbesAreNotForecast(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	for range 40 {
		b.answer(100, "GPU-0", 5*gib, gib, 0, 0)
		b.answers[0].At = b.now.Add(time.Second)
		b.tick(s)
	}
	if p := s.Latest().Rows[0]; len(p.PredictedAllocated) == 0 {
		t.Fatalf("nothing is forecast of a live probe: %+v", p.Probe)
	}
	for range 5 {
		b.tick(s)
	}
	if p := s.Latest().Rows[0]; p.PredictedAllocated != nil || p.Probe.State == snapshot.ProbeLive {
		t.Errorf("a probe that is %s: %v", p.Probe.State, p.PredictedAllocated)
	}
}

// A series that has not moved has no forecaster and is expected to stay. When it moves, its new
// forecaster forecasts nearly as a forecaster with every sample does.
func TestForecasterIsMadeWhenSeriesMoves(t *testing.T) {
	for _, seconds := range []int{5, 25, 400, 7200} {
		var lazy outlook
		every := forecast.New()
		now, used := start, 10*gib
		observe := func() {
			now = now.Add(time.Second)
			lazy.observe(now, measured(used), quickPace)
			every.Observe(now, int64(used))
		}
		for range seconds {
			observe()
		}
		if lazy.forecaster != nil || !reflect.DeepEqual(lazy.predicted, predictions(every)) || lazy.trend != every.Trend() {
			t.Errorf("still for %d s: %v, trend %v, want %v, trend %v", seconds, lazy.predicted, lazy.trend, predictions(every), every.Trend())
		}
		for range 70 {
			used += 64 * mib
			observe()
		}
		want, fills := every.FullIn(10 << 30)
		full, ok := lazy.forecaster.FullIn(10 << 30)
		if off := full.Median - want.Median; ok != fills || max(off, -off) > want.Median/20 {
			t.Errorf("still for %d s: full in %v, want %v", seconds, full, want)
		}
		if lazy.trend != every.Trend() {
			t.Errorf("still for %d s: trend %v, want %v", seconds, lazy.trend, every.Trend())
		}
	}
}

// While a GPU does not answer, no forecaster is made for its processes, because making a thousand
// at once takes half a second.
func TestGapsMakeNoForecaster(t *testing.T) {
	var lazy outlook
	every := forecast.New()
	now, used := start, 10*gib
	for second := range 700 {
		now = now.Add(time.Second)
		switch {
		case second >= 300 && second < 330, second == 629:
			lazy.observe(now, snapshot.Bytes{}, quickPace)
			every.Gap(now)
			continue
		case second >= 630:
			used += 64 * mib
		}
		if second < 630 && lazy.forecaster != nil {
			t.Fatalf("a series that has not moved has a forecaster after %d s", second)
		}
		lazy.observe(now, measured(used), quickPace)
		every.Observe(now, int64(used))
	}
	full, ok := lazy.forecaster.FullIn(10 << 30)
	want, fills := every.FullIn(10 << 30)
	if off := full.Median - want.Median; ok != fills || max(off, -off) > want.Median/20 {
		t.Errorf("full in %v, want %v", full, want)
	}
}

// Still memory is sampled less often. When it moves, the forecaster gets the last still sample first.
func TestThinnedSamplesForecastAsWell(t *testing.T) {
	for still := 100; still < 112; still++ {
		var thinned outlook
		every := forecast.New()
		now, used := start, 10*gib
		for second := range still + 60 {
			now = now.Add(time.Second)
			if second >= still {
				used += 64 * mib
			}
			thinned.observe(now, measured(used), quickPace)
			every.Observe(now, int64(used))
		}
		if thinned.given > still/2+60 {
			t.Errorf("%d samples of %d were given", thinned.given, still+60)
		}
		for i, want := range predictions(every) {
			if off := thinned.predicted[i].Median - want.Median; max(off, -off) > (want.Median-used)/10+mib {
				t.Errorf("still for %d s: %v in %v, want %v", still, thinned.predicted[i].Median-used, want.Horizon, want.Median-used)
			}
		}
	}
}

func TestTrendsAreListedInTheSameOrder(t *testing.T) {
	for trend, want := range map[forecast.Trend]snapshot.Trend{
		forecast.Young: snapshot.TrendYoung, forecast.Steady: snapshot.TrendSteady, forecast.Growing: snapshot.TrendGrowing,
		forecast.Shrinking: snapshot.TrendShrinking, forecast.Sawtooth: snapshot.TrendSawtooth, forecast.Leak: snapshot.TrendLeak,
	} {
		if got := snapshot.TrendYoung + snapshot.Trend(trend); got != want {
			t.Errorf("%d is shown as %d, want %d", trend, got, want)
		}
	}
}
