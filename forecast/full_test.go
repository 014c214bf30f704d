package forecast

import (
	"math"
	"slices"
	"testing"
	"time"

	"vramscope/internal/forecastlab/regime"
)

func TestFullInOfLeak(t *testing.T) {
	const rate = 25 * mib
	r := regime.Seeded(8)
	y := ramp(1200, 10*gib, rate)
	for i := range y {
		y[i] += 40 * mib * r.NormFloat64()
	}
	f := fed(y, 1)
	for _, seconds := range []float64{30, 120, 250, 420} {
		full, ok := f.FullIn(int64(seconds * rate))
		if !ok || math.Abs(full.Median.Seconds()-seconds) > max(0.05*seconds, 5) {
			t.Errorf("%v s before: %+v %v", seconds, full, ok)
		}
		if wide := full.Latest - full.Earliest; wide > full.Median/5+5*time.Second {
			t.Errorf("%v s before: the interval is %v wide", seconds, wide)
		}
		if full.Earliest > full.Median || full.Latest != 0 && full.Latest < full.Median {
			t.Errorf("out of order: %+v", full)
		}
	}
	if full, ok := f.FullIn(int64(40 * 60 * rate)); ok {
		t.Errorf("40 min before: %+v", full)
	}
	if full, ok := f.FullIn(-5); !ok || full.Median != 0 {
		t.Errorf("a leak with nothing free: %+v %v", full, ok)
	}
}

// If nothing is free, a leak without noise fills the GPU by the next sample at the latest.
func TestFullInOfNoiselessLeakHasLatest(t *testing.T) {
	f := fed(ramp(1200, 10*gib, 25*mib), 1)
	if full, ok := f.FullIn(0); !ok || full.Latest <= 0 || full.Latest > 2*time.Second {
		t.Errorf("%+v %v", full, ok)
	}
}

func TestShrinkingMemoryNeverFills(t *testing.T) {
	f := fed(ramp(600, 60*gib, -20*mib), 1)
	for _, free := range []int64{0, 1 << 20, 1 << 34} {
		if full, ok := f.FullIn(free); ok {
			t.Errorf("%d free: %+v", free, full)
		}
	}
	if f.Trend() != Shrinking {
		t.Errorf("it is %v", f.Trend())
	}
	if rate, ok := f.GrowthPerSecond(); !ok || math.Abs(rate+20*mib) > mib {
		t.Errorf("it grows by %v a second, %v", rate, ok)
	}
}

// After two cycles, a sawtooth that stays just below the limit is not forecast to fill the GPU.
func TestSawtoothCloseToLimitDoesNotFill(t *testing.T) {
	for _, period := range []int{20, 45, 90, 180} {
		r := regime.Seeded(uint64(period))
		f := New()
		for i := range 3600 {
			v := 40*gib + 6*gib*float64(i%period)/float64(period) + 10*mib*r.NormFloat64()
			f.Observe(after(float64(i)), int64(v))
			if full, ok := f.FullIn(int64(46.5*gib - v)); ok && i > 2*period {
				t.Fatalf("period %d s, after %d s: %+v", period, i, full)
			}
		}
		if f.Trend() != Sawtooth {
			t.Errorf("period %d s: it is %v", period, f.Trend())
		}
	}
}

func TestFullInIsLimitedByAge(t *testing.T) {
	const rate = 50 * mib
	f := New()
	for i := range 120 {
		f.Observe(after(float64(i)), int64(10*gib+rate*float64(i)))
		for _, left := range []float64{60, 120, 240, 14 * 60} {
			if full, ok := f.FullIn(int64(left * rate)); ok && full.Median.Seconds() > 1.5*float64(i) {
				t.Fatalf("after %d s: full in %v", i, full.Median)
			}
		}
	}
	if full, ok := f.FullIn(int64(100 * rate)); !ok || math.Abs(full.Median.Seconds()-100) > 15 {
		t.Errorf("after two minutes, 100 s before: %+v %v", full, ok)
	}
}

func TestFullInDecreasesWithFreeMemory(t *testing.T) {
	f := fed(regime.Leak(regime.Seeded(9))[:900], 1)
	last := time.Duration(0)
	for free := int64(0); free < 20<<30; free += 1 << 28 {
		full, ok := f.FullIn(free)
		if !ok {
			break
		}
		if full.Median < last {
			t.Fatalf("with %d free: %v, with less: %v", free, full.Median, last)
		}
		last = full.Median
	}
	if last == 0 {
		t.Error("a leak never fills the GPU")
	}
}

// A series that can grow by less than is free does not fill the GPU. A larger bound changes nothing.
func TestFullInHeedsBound(t *testing.T) {
	f, level := fed(regime.Leak(regime.Seeded(9))[:900], 1), fed(flat(900, 1<<30), 1)
	const free = int64(8 << 30)
	alone, ok := f.FullIn(free)
	f.Bound(free - 1<<30)
	_, bounded := WhenFull(free, f, level)
	f.Bound(16 << 30)
	wide, _ := f.FullIn(free)
	if !ok || bounded || wide != alone {
		t.Errorf("full in %v, %v; bound by less: %v; by much more: %v", alone, ok, bounded, wide)
	}
	f.Bound(0)
	if again, _ := f.FullIn(free); again != alone {
		t.Errorf("without the bound again: %v, want %v", again, alone)
	}
}

// A young series does not count as older because it grows beside an old one.
func TestYoungSeriesLendsNoAge(t *testing.T) {
	old, young := fed(flat(5000, 1<<30), 1), fed(ramp(100, gib, 20*mib), 1)
	if _, ok := young.FullIn(1 << 30); !ok {
		t.Error("its growth in 50 s is not seen")
	}
	if full, ok := WhenFull(12<<30, old, young); ok {
		t.Errorf("after 100 s it is expected to fill the memory in %v", full.Median)
	}
}

// If forecasts of a horizon overlap, it has few errors of its own, and its interval is no narrower
// than that of the next shorter horizon.
func TestFarIntervalsAreNoNarrower(t *testing.T) {
	for seed := range uint64(20) {
		f := fed(regime.Noise(regime.Seeded(seed))[:2000], 1)
		at := f.Forecasts(nil)
		for i := 4; i < len(at); i++ {
			if at[i].Upper80-at[i].Median < at[i-1].Upper80-at[i-1].Median || at[i].Median-at[i].Lower80 < at[i-1].Median-at[i-1].Lower80 {
				t.Errorf("seed %d: %+v after %+v", seed, at[i], at[i-1])
			}
		}
	}
}

// TestTimeToFullHolds: the interval contains the same share of times to full whether the level is
// minutes away or a quarter of an hour.
func TestTimeToFullHolds(t *testing.T) {
	for _, g := range regime.All() {
		if g.Name != "staircase" && g.Name != "alternation over a leak" && g.Name != "growing peaks" {
			continue
		}
		var held, answered [2]int // full in 1 to 5 minutes, and in 5 to 15
		for seed := range uint64(24) {
			y := g.Make(regime.Seeded(3000 + seed))
			full := slices.IndexFunc(y, func(v float64) bool { return v >= regime.Capacity-mib })
			f := New()
			for i := range max(full-60, 0) {
				f.Observe(noon.Add(time.Duration(i)*time.Second), int64(y[i]))
				left, band := full-i, 0
				if left > 300 {
					band = 1
				}
				in, ok := f.FullIn(int64(regime.Capacity - y[i]))
				if !ok || left > 900 {
					continue
				}
				answered[band]++
				if at := time.Duration(left) * time.Second; in.Earliest <= at && at <= in.Latest {
					held[band]++
				}
			}
		}
		for band, n := range answered {
			share := float64(held[band]) / float64(n)
			if n == 0 || math.Abs(share-0.80) > 0.09 {
				t.Errorf("%s, band %d: %.3f of %d", g.Name, band, share, n)
			}
		}
	}
}

// growing returns the forecaster of a second job, which began an hour after the first, has run for
// the given time, and rises by a byte a second.
func growing(known time.Duration) *Forecaster {
	f := New()
	f.state.Count, f.state.Began, f.state.Now, f.state.Step = MinSamples, int64(time.Hour), int64(time.Hour+known), 1
	for i, h := range Horizons {
		f.state.Outlook[i].Rise = h.Seconds()
	}
	return f
}

func TestFullInRules(t *testing.T) {
	announced := func(since time.Duration) *Forecaster { // a course that began this long ago
		f := growing(2 * time.Minute)
		f.state.Course = course{Announced: true, Since: f.state.Now - int64(since), Slope: 1}
		return f
	}
	lifted := announced(20 * time.Second)
	lifted.state.Course.Announced, lifted.state.Course.Lifted = false, true
	few := growing(2 * time.Minute)
	few.state.Count--
	for _, c := range []struct {
		name   string
		free   int64
		series []*Forecaster
		want   time.Duration // -1: never
	}{
		{"as long as it is known", 120, []*Forecaster{growing(2 * time.Minute)}, 2 * time.Minute},
		{"longer than it is known", 121, []*Forecaster{growing(2 * time.Minute)}, -1},
		{"a new course for twice its age", 160, []*Forecaster{announced(80 * time.Second)}, 160 * time.Second},
		{"a new course for longer", 161, []*Forecaster{announced(80 * time.Second)}, -1},
		{"one of two is known for long enough", 240, []*Forecaster{growing(2 * time.Minute), growing(time.Minute)}, 2 * time.Minute},
		{"a course as quick as a server takes its cache", 29, []*Forecaster{announced(20 * time.Second)}, -1},
		{"one that is only lifted hides no other forecast", 29, []*Forecaster{lifted}, 29 * time.Second},
		{"a slower course", 30, []*Forecaster{announced(20 * time.Second)}, 30 * time.Second},
		{"a quick rise that is no new course", 39, []*Forecaster{growing(2 * time.Minute)}, 39 * time.Second},
		{"known for a minute", 60, []*Forecaster{growing(time.Minute)}, time.Minute},
		{"known for less", 30, []*Forecaster{growing(time.Minute - 1)}, -1},
		{"too few samples", 30, []*Forecaster{few}, -1},
		{"one that is not counted is constant", 30, []*Forecaster{few, growing(time.Minute)}, 30 * time.Second},
		{"beyond the last horizon", 901, []*Forecaster{growing(time.Hour)}, -1},
		{"nothing is free", 0, []*Forecaster{growing(time.Minute)}, 0},
	} {
		in, ok := WhenFull(c.free, c.series...)
		if ok != (c.want >= 0) || ok && in.Median.Round(time.Microsecond) != c.want {
			t.Errorf("%s: %+v %v, want %v", c.name, in, ok, c.want)
		}
	}
}

// The interval of a series without a record is a share of the time. Independent series together
// have a narrower one.
func TestFullInInterval(t *testing.T) {
	near := func(got time.Duration, want float64) bool { return math.Abs(got.Seconds()-want) < 1e-3 }
	one, _ := WhenFull(100, growing(2*time.Minute))
	if !near(one.Median, 100) || !near(one.Earliest, 100-100*unsure) || !near(one.Latest, 100+100*unsure+level) {
		t.Errorf("of one: %+v", one)
	}
	a, b := growing(2*time.Minute), growing(2*time.Minute)
	for i := range b.state.Outlook {
		b.state.Outlook[i].Rise *= 3
	}
	b.state.Step = 2
	off := 100 * math.Hypot(unsure/4, unsure*3/4)
	two, _ := WhenFull(400, a, b)
	if !near(two.Median, 100) || !near(two.Earliest, 100-off) || !near(two.Latest, 100+off+2*level) {
		t.Errorf("of two: %+v, want ±%.1f s", two, off)
	}
}

func TestPathCrosses(t *testing.T) {
	for _, c := range []struct {
		path path
		room float64
		want time.Duration // -1: never
	}{
		{path{10}, 5, -1}, // a passing peak
		{path{10, 5}, 5, Horizons[0] / 2},
		{path{-4, 4, 4}, 2, Horizons[0] + (Horizons[1]-Horizons[0])*3/4},
		{path{2, 6, 8}, 6, Horizons[1]},
		{path{0, 0, 0}, 0, -1},
		{path{1, 1, 1}, 0, 0},
	} {
		got, ok := c.path.crosses(c.room)
		if ok != (c.want >= 0) || ok && got.Round(time.Microsecond) != c.want.Round(time.Microsecond) {
			t.Errorf("%v above %v: %v %v, want %v", c.path, c.room, got, ok, c.want)
		}
	}
	last := path{}
	last[len(last)-1] = 10
	if at, ok := last.crosses(10); !ok || at != Horizons[len(Horizons)-1] {
		t.Errorf("at the last horizon: %v %v", at, ok)
	}
}

// A leak in small steps is one leak: the time to full does not disappear between the steps.
func TestLeakInDripsStands(t *testing.T) {
	for _, every := range []float64{6, 11, 19} {
		f := New()
		answers, changes, last := 0, 0, false
		for i := range 1500 {
			v := 10*gib + 40*mib*every*math.Floor(max(float64(i)-300, 0)/every)
			f.Observe(after(float64(i)), int64(v))
			if i < 900 {
				continue
			}
			_, ok := f.FullIn(int64(300 * 40 * mib))
			if ok {
				answers++
			}
			if ok != last {
				changes, last = changes+1, ok
			}
		}
		if answers < 570 || changes > 3 {
			t.Errorf("steps of %v s: full at %d of 600 samples, in %d changes", every, answers, changes)
		}
	}
}
