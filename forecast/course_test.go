package forecast

import (
	"math"
	"math/rand/v2"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// noisy returns a path with normal noise of size bytes.
func noisy(seed uint64, size float64, seconds int, path func(t float64) float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 3))
	y := make([]float64, seconds)
	for t := range y {
		y[t] = path(float64(t)) + size*r.NormFloat64()
	}
	return y
}

// A ramp out of a plateau is announced as a course within 25 s, or within 8 samples if these
// take longer. The time to full then follows its slope.
func TestCourseIsAnnounced(t *testing.T) {
	for _, step := range []float64{0.5, 1, 2, 5} {
		begins := int(600 / step)
		y := noisy(1, 20*mib, begins+int(60/step), func(i float64) float64 {
			return 20*gib + 200*mib*step*max(i-float64(begins), 0)
		})
		f, announced := New(), -1
		for i, v := range y {
			f.Observe(after(float64(i)*step), int64(v))
			if f.state.Course.Announced && announced < 0 {
				announced = i
			}
		}
		if late := float64(announced-begins) * step; announced < 0 || late < 0 || late > max(25, 8*step) {
			t.Errorf("every %v s: announced %v s after its start", step, late)
		}
		full, ok := f.FullIn(int64(15 * gib))
		if want := 15 * gib / (200 * mib); !ok || math.Abs(full.Median.Seconds()-want) > 0.15*want {
			t.Errorf("every %v s: full in %v (%t), want %.0f s", step, full.Median, ok, want)
		}
	}
}

// A job that begins with a ramp may be loading its data, so a ramp is a course only if its job ran
// for a minute before. The job of this test is the second one. 57 s suffice, because the course is
// dated four seconds into the ramp.
func TestCourseNeedsAPast(t *testing.T) {
	for past, want := range map[float64]bool{30: false, 56: false, 57: true} {
		f, announced := fed(flat(600, 0), 1), false
		for i, v := range noisy(1, 20*mib, int(past)+50, func(t float64) float64 { return 20*gib + 200*mib*max(t-past, 0) }) {
			f.Observe(after(600+float64(i)), int64(v))
			announced = announced || f.state.Course.Announced
		}
		if announced != want {
			t.Errorf("after %v s: %v", past, announced)
		}
	}
}

// Noise makes a straight course seem to slow down at no more than one sample of twenty.
func TestStraightCourseSeldomFades(t *testing.T) {
	sure, fades := 0, 0
	for seed := range uint64(40) {
		f := New()
		for i, v := range noisy(seed, 60*mib, 240, func(t float64) float64 { return 20*gib + 200*mib*max(t-120, 0) }) {
			f.Observe(after(float64(i)), int64(v))
			if c := f.state.Course; c.Sure && i > 130 {
				sure++
				if c.Fades > 0 {
					fades++
				}
			}
		}
	}
	if share := float64(fades) / float64(sure); sure < 3000 || share > 0.05 || fades == 0 {
		t.Errorf("%.3f of %d", share, sure)
	}
}

// A course out of a sawtooth starts anew once the series has had no new top for a minute.
func TestCourseOutOfASawtoothNeedsNewTops(t *testing.T) {
	for since, want := range map[int64]int64{60e9: 10e9, 60e9 + 1: 660e9 + 1} {
		s := state{Now: 600e9 + since, Last: 20 * gib, Top: peak{600e9, 30 * gib}, Course: course{Since: 10e9, Top: 10 * gib, Rough: true}}
		if s.follow(line{variance: 1}, line{}, 1, 0); s.Course.Since != want {
			t.Errorf("%v ns after the top it began at %v, want %v", since, s.Course.Since, want)
		}
	}
}

// A step, which is no line, is not announced as a course, and neither are the rises of a sawtooth,
// which are forecast, nor a rise to an earlier level.
func TestStepsAndSawtoothAreNoCourse(t *testing.T) {
	for name, y := range map[string][]float64{
		"step": noisy(2, 20*mib, 2400, func(t float64) float64 {
			if t >= 1800 {
				return 50 * gib
			}
			return 30 * gib
		}),
		"sawtooth": regime.Sawtooth(regime.Seeded(1)),
		"regrowth": noisy(3, 20*mib, 700, func(t float64) float64 {
			if t < 600 {
				return 50 * gib
			}
			return 20*gib + 300*mib*(t-600)
		}),
	} {
		f := New()
		on := 0
		for i, v := range y {
			f.Observe(after(float64(i)), int64(v))
			if f.state.Course.Announced && i > len(y)/2 {
				on++
			}
		}
		if on > len(y)/40 {
			t.Errorf("a %s is a new course at %d of %d samples", name, on, len(y))
		}
	}
}

// A burst of loading that has ended fills no GPU, even if its forecasts for ten seconds later came
// true.
func TestBurstFillsNoGPU(t *testing.T) {
	for _, lasts := range []float64{1, 2, 4} {
		y := noisy(4, mib, 700, func(t float64) float64 { return 10*gib + 50*gib*min(max((t-600.2)/lasts, 0), 1) })
		f := New()
		for i, v := range y {
			f.Observe(after(float64(i)), int64(v))
			if full, ok := f.FullIn(int64(80*gib - v)); ok && i < 620 {
				t.Fatalf("a burst of %v s: %d s later the GPU is full in %v", lasts, i-600, full.Median)
			}
		}
	}
}

// A rise that is as short as the allocation of a server's KV cache is not forecast to fill the GPU.
func TestKVCacheFillsNoGPU(t *testing.T) {
	for _, lasts := range []float64{20, 24, 28} {
		y := noisy(5, mib, 600+int(lasts), func(t float64) float64 { return 10*gib + 60*gib*max((t-600.2)/lasts, 0) })
		f := New()
		for i, v := range y {
			f.Observe(after(float64(i)), int64(v))
			if full, ok := f.FullIn(int64(80*gib - v)); ok {
				t.Fatalf("a rise of %v s: after %d s the GPU is full in %v", lasts, i-600, full.Median)
			}
		}
	}
}

// Growth that saturates, as a server's cache does, seems to fill a GPU at two samples at most: it
// bends, and a course is believed for no longer than twice its age.
func TestSaturatingGrowthFillsNoGPU(t *testing.T) {
	for _, fade := range []float64{100, 250, 600} {
		y := noisy(6, 5*mib, 2400, func(t float64) float64 {
			return 15*gib + 35*gib*(1-math.Exp(-max(t-300, 0)/fade))
		})
		f := New()
		full := 0
		for i, v := range y {
			f.Observe(after(float64(i)), int64(v))
			if _, ok := f.FullIn(int64(80*gib - v)); ok {
				full++
			}
		}
		if full > 2 {
			t.Errorf("fading in %v s: full within a quarter of an hour at %d of %d samples", fade, full, len(y))
		}
	}
}

// A ramp below a sawtooth, or below alternating training and evaluation, however uneven, is expected to
// fill the GPU before half of the ramp has passed: as soon as the falls stay above everything before.
func TestRampUnderATextureIsSeen(t *testing.T) {
	for _, tc := range []struct {
		which int
		first uint64
	}{{1, 41_000}, {2, 41_000}, {2, 51_024}, {2, 51_036}} {
		which, seen, ends := tc.which, 0, 0
		const series = 12
		for seed := range uint64(series) {
			y, begins := regime.TexturedRamp(regime.Seeded(tc.first+seed), which)
			f, row, rows, lifted := New(), 0, 0, false
			for i, v := range y[:(len(y)+int(begins))/2] {
				f.Observe(after(float64(i)), int64(v))
				if before := lifted; i > int(begins) {
					if lifted = f.state.Course.Lifted; before && !lifted {
						ends++
					}
				}
				left := float64(len(y) - 1 - i)
				if in, ok := f.FullIn(int64(regime.Capacity - v)); ok && left < 2*in.Median.Seconds() && left > in.Median.Seconds()/2 {
					row++
				} else {
					row = 0
				}
				rows = max(rows, row)
			}
			if rows >= 3 {
				seen++
			}
		}
		if seen < series-1 || ends > series { // each end of a course is a mistake
			t.Errorf("%s, from seed %d: %d of %d ramps, whose courses end %d times", regime.RampTextures[which], tc.first, seen, series, ends)
		}
	}
}

// A ramp in steps keeps its time to full between the steps.
func TestRampInStepsDoesNotFlicker(t *testing.T) {
	f := New()
	for i := range 780 {
		v := int64(6*gib + 8*400*mib*math.Floor(max(float64(i)-600, 0)/8))
		f.Observe(after(float64(i)), v)
		if _, ok := f.FullIn(int64(80*gib) - v); !ok && i > 675 {
			t.Errorf("%d s after its begin the ramp leads nowhere", i-600)
		}
	}
}

// A rise out of a sawtooth that ends in a plateau is no course after a minute.
func TestPlateauAfterARiseIsNoCourse(t *testing.T) {
	saw := regime.Sawtooth(regime.Seeded(1))[:1200]
	y := noisy(4, 20*mib, 2400, func(t float64) float64 {
		return saw[int(t)%1200] + 100*mib*min(max(t-1200, 0), 160)
	})
	f, late := New(), 0
	for i, v := range y {
		f.Observe(after(float64(i)), int64(v))
		if f.state.Course.Lifted && i > 1200+160 {
			late++
		}
	}
	if late > 55 {
		t.Errorf("a plateau is lifted for %d s", late)
	}
}

// A leak in bursts, which seems to approach a level, has a time to full at two thirds of the samples,
// and a leak under a sawtooth at nearly all.
func TestUnevenLeakFills(t *testing.T) {
	most := map[string]float64{"bursts": 0.33, "leak under a sawtooth": 0.05}
	for _, g := range regime.All() {
		for _, seed := range map[string][]uint64{"bursts": {2, 5}, "leak under a sawtooth": {41_009}}[g.Name] {
			y := g.Make(regime.Seeded(seed))
			f, none, all := New(), 0, 0.0
			for i, v := range y {
				f.Observe(after(float64(i)), int64(v))
				if left := len(y) - 1 - i; left >= 60 && left <= 600 {
					all++
					if _, ok := f.FullIn(int64(regime.Capacity - v)); !ok {
						none++
					}
				}
			}
			if float64(none) > most[g.Name]*all {
				t.Errorf("%s, seed %d: no time to full in %d of %.0f s", g.Name, seed, none, all)
			}
		}
	}
}
