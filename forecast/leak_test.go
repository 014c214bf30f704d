package forecast

import (
	"math"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// leaking is the number of samples, a second apart, that are marked as a leak, and the
// first of them, −1 for none.
func leaking(y []float64) (count, first int) {
	f := New()
	first = -1
	for i, v := range y {
		f.Observe(after(float64(i)), int64(v))
		if f.Trend() != Leak {
			continue
		}
		if count++; first < 0 {
			first = i
		}
	}
	return count, first
}

// saturating grows from base by grows, ever more slowly, with noise.
func saturating(n int, base, grows, fade, size float64, seed uint64) []float64 {
	r := regime.Seeded(seed)
	y := make([]float64, n)
	for i := range y {
		y[i] = base + grows*(1-math.Exp(-float64(i)/fade)) + size*r.NormFloat64()
	}
	return y
}

// Growth that levels off is never a leak, not even in its first minutes, when noise
// hides that it slows down.
func TestFadingGrowthIsNoLeak(t *testing.T) {
	for _, fade := range []float64{200, 600, 1800} {
		for _, size := range []float64{1, 30, 100} {
			for seed := range uint64(3) {
				if count, first := leaking(saturating(7200, 8*gib, 30*gib, fade, size*mib, seed)); count > 0 {
					t.Errorf("fading in %v s, noise of %v MiB: a leak at %d s, for %d s", fade, size, first, count)
				}
			}
		}
	}
}

// A leak is found within minutes, under noise later.
func TestLeakIsFoundInTime(t *testing.T) {
	for _, c := range []struct{ rate, size, latest float64 }{
		{20, 1, 480}, {20, 30, 480}, {20, 100, 600}, {60, 100, 480}, {4, 10, 600}, {1, 5, 1200},
	} {
		r := regime.Seeded(20)
		y := ramp(3600, 8*gib, c.rate*mib)
		for i := range y {
			y[i] += c.size * mib * r.NormFloat64()
		}
		if _, first := leaking(y); first < 0 || float64(first) > c.latest {
			t.Errorf("%v MiB/s under noise of %v MiB: called a leak at %d s, want %v s at the latest", c.rate, c.size, first, c.latest)
		}
	}
}

func TestSlowLeakIsFound(t *testing.T) {
	for _, c := range []struct{ base, perHour, size float64 }{
		{6, 200, 3}, {6, 200, 20}, {40, 1800, 60},
	} {
		r := regime.Seeded(21)
		y := ramp(3*3600, c.base*gib, c.perHour/3600*mib)
		for i := range y {
			y[i] += c.size * mib * r.NormFloat64()
		}
		if _, first := leaking(y); first < 0 || first > 2*3600 {
			t.Errorf("%v MiB an hour out of %v GiB, noise of %v MiB: %d s", c.perHour, c.base, c.size, first)
		}
	}
}

// After a long plateau a leak is found in a few minutes, whatever was loaded before.
func TestLeakAfterPlateauIsFoundInMinutes(t *testing.T) {
	r := regime.Seeded(22)
	y := saturating(3000, 5*gib, 20*gib, 100, 0, 0)
	y = append(y, ramp(1200, y[len(y)-1], 25*mib)...)
	for i := range y {
		y[i] += 20 * mib * r.NormFloat64()
	}
	if _, first := leaking(y); first < 3000 || first > 3000+480 {
		t.Errorf("a leak that begins at 3000 s is called one at %d s", first)
	}
}

func TestCorrelatedNoiseIsNoLeak(t *testing.T) {
	for _, memory := range []float64{1, 10, 60, 120} {
		for _, size := range []float64{24, 200, 2000} {
			r := regime.Seeded(uint64(memory + size))
			keep, off := math.Exp(-1/memory), 0.0
			y := make([]float64, 10800)
			for i := range y {
				off = keep*off + math.Sqrt(1-keep*keep)*size*mib*r.NormFloat64()
				y[i] = 20*gib + off
			}
			if count, first := leaking(y); count > 0 {
				t.Errorf("noise of %v MiB that lasts %v s: a leak at %d s, for %d s", size, memory, first, count)
			}
		}
	}
}

// Swings that repeat are no leak.
func TestSwingsAreNoLeak(t *testing.T) {
	for _, period := range []float64{120, 600, 1200, 2400} {
		for _, size := range []float64{0.024, 0.1, 0.5, 2} {
			r := regime.Seeded(uint64(period))
			y := make([]float64, 4*3600)
			for i := range y {
				y[i] = 6.3*gib + size*gib*math.Cos(2*math.Pi*float64(i)/period) + 2*mib*r.NormFloat64()
			}
			if count, first := leaking(y); count > 0 {
				t.Errorf("±%v GiB within %v s: a leak at %d s, for %d s", size, period, first, count)
			}
		}
	}
}

// Weights that are loaded, and a cache to which every epoch adds less.
func TestFadingStepsAreNoLeak(t *testing.T) {
	weights, epochs := make([]float64, 3600), make([]float64, 3*3600)
	for i := range weights {
		weights[i] = gib + 0.8*gib*math.Min(math.Floor(float64(i)/9), 40)
	}
	level, more := 10*gib, 6*gib
	for i := range epochs {
		if i%400 == 399 {
			level += more
			more *= 0.6
		}
		epochs[i] = level
	}
	for name, y := range map[string][]float64{"weights": weights, "epochs": epochs} {
		if count, first := leaking(y); count > 0 {
			t.Errorf("%s: a leak at %d s, for %d s", name, first, count)
		}
	}
}

// A leak under a sawtooth that is as tall as the growth of minutes, and the same
// sawtooth without it.
func TestLeakUnderSawtoothIsGrowthOfMinima(t *testing.T) {
	r := regime.Seeded(23)
	with, without := make([]float64, 3600), make([]float64, 3600)
	for i := range with {
		cycle := 4*gib*float64(i%90)/90 + 20*mib*r.NormFloat64()
		with[i], without[i] = 20*gib+cycle+12*mib*float64(i), 20*gib+cycle
	}
	if _, first := leaking(with); first < 0 || first > 1500 {
		t.Errorf("the leak is called one at %d s", first)
	}
	if count, first := leaking(without); count > 0 {
		t.Errorf("a sawtooth is called a leak at %d s, for %d s", first, count)
	}
}

// The mark ends with the leak, soon, and does not flicker while it grows.
func TestLeakMarkEndsWithLeak(t *testing.T) {
	r := regime.Seeded(24)
	y := append(ramp(1800, 10*gib, 20*mib), flat(1800, 10*gib+1800*20*mib)...)
	f := New()
	marks, last := 0, 0
	before := Young
	for i, v := range y {
		f.Observe(after(float64(i)), int64(v+30*mib*r.NormFloat64()))
		now := f.Trend()
		if now == Leak {
			last = i
			if before != Leak {
				marks++
			}
		}
		before = now
	}
	if marks != 1 || last < 1800 || last > 1800+300 {
		t.Errorf("marked %d times, at last at %d s; it ends at 1800 s", marks, last)
	}
}

// Levels from before the machine slept for an hour do not count for a leak found when
// it wakes.
func TestLongGapResetsRows(t *testing.T) {
	f := New()
	for i := range 900 {
		f.Observe(after(float64(i)), int64(60*gib))
	}
	first := -1
	for i, v := range ramp(900, 20*gib, 20*mib) {
		f.Observe(after(4500+float64(i)), int64(v))
		if first < 0 && f.Trend() == Leak {
			first = i
		}
	}
	if first < 0 || first > 600 {
		t.Errorf("called a leak %d s after the gap", first)
	}
}

// The whole life is kept in slots that grow with it, and levels keep their time.
func TestLifeIsKeptInGrowingSlots(t *testing.T) {
	for _, windows := range []int{10, 24, 25, 100, 1000, 5000} {
		m := minima{Joined: 1}
		for i := range windows {
			m.Lowest, m.Sum, m.Samples = float64(i), 2*float64(i), 1
			m.close()
		}
		slot := 1 << m.LifeScale
		if size := int(m.LifeSize); size > lifeCap || windows > lifeCap && size < lifeCap/2 || (windows-size*slot) >= slot+1 || size*slot > windows {
			t.Fatalf("%d windows: %d slots of %d", windows, size, slot)
		}
		for i := range int(m.LifeSize) {
			low, mean := float64(i*slot), 2*(float64(i*slot)+float64(slot-1)/2)
			if float64(m.LifeLows[i]) != low || float64(m.LifeMeans[i]) != mean {
				t.Fatalf("%d windows: slot %d of %d is %v, %v; want %v, %v", windows, i, slot, m.LifeLows[i], m.LifeMeans[i], low, mean)
			}
		}
	}
}

// The standard error matches the actual error: for noise around a line, for a random
// walk, and in between.
func TestStandardErrorOfLostSteps(t *testing.T) {
	for _, c := range []struct {
		name         string
		noise, walks float64
	}{{"noise", 1, 0}, {"a walk", 0, 1}, {"both", 1, 1}} {
		r := regime.Seeded(25)
		const series, n = 2000, 16
		var made, stated float64
		levels := make([]float64, n)
		for range series {
			walked := 0.0
			for i := range levels {
				walked += c.walks * r.NormFloat64()
				levels[i] = 20*float64(i) + walked + c.noise*r.NormFloat64()
			}
			s := stepsOf(levels)
			lost, err := s.lost()
			made += lost * lost
			stated += err * err
		}
		if ratio := math.Sqrt(stated / made); ratio < 0.85 || ratio > 2 {
			t.Errorf("%s: errors are stated %.2f times as large as they are", c.name, ratio)
		}
	}
}

func TestMannKendallAndTheilSen(t *testing.T) {
	for _, tc := range []struct {
		name   string
		levels []float64
		rises  bool
		slows  bool
	}{
		{"a line", []float64{10, 11, 12, 13, 14, 15}, true, false},
		{"one step", []float64{10, 10, 10, 15, 15, 15, 15, 15}, false, false},
		{"one large step", []float64{10, 10.1, 10.2, 20, 20.1, 20.2}, false, false},
		{"up and down", []float64{10, 12, 11, 13, 10, 12, 11, 13}, false, false},
		{"falling", []float64{15, 14, 13, 12, 11, 10}, false, false},
		{"slowing", []float64{10, 14, 17.5, 20.6, 23.3, 25.7, 27.8, 29.7, 31.4, 33}, true, true},
		{"faster and faster", []float64{10, 10.5, 11.2, 12, 13, 14.1, 15.4}, true, false},
		{"up to where it was", []float64{16, 10, 11, 12, 13, 14, 15}, false, false},
		{"hardly above where it was", []float64{30, 10, 14.2, 18.4, 22.6, 26.8, 31}, false, false},
	} {
		levels := make([]float64, len(tc.levels))
		for i, v := range tc.levels {
			levels[i] = v * gib
		}
		r, m := row{lows: levels, levels: levels, minutes: 1}, minima{}
		if rises := m.rises(&r, 6, false); rises != tc.rises {
			t.Errorf("%s: rises %v", tc.name, rises)
		}
		if slows := r.slows(60); slows != tc.slows {
			t.Errorf("%s: slows down %v", tc.name, slows)
		}
	}
	if got := theilSen([]float64{0, 1, 2, 300, 4, 5, 6}); got != 1 {
		t.Errorf("one outlier makes the slope %v", got)
	}
}
