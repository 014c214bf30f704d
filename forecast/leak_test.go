package forecast

import (
	"math"
	"slices"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// leaking returns the number of samples, a second apart, that are marked as a leak, and the first
// of them, −1 for none.
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

// saturating rises from base by grows, ever more slowly, with noise.
func saturating(n int, base, grows, fade, size float64, seed uint64) []float64 {
	r := regime.Seeded(seed)
	y := make([]float64, n)
	for i := range y {
		y[i] = base + grows*(1-math.Exp(-float64(i)/fade)) + size*r.NormFloat64()
	}
	return y
}

// Growth that levels off is never a leak, not even in its first minutes, when noise hides that the
// growth slows down.
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

// A leak that has been there from the start is found once eight lows show that it grows evenly.
func TestLeakIsFoundInTime(t *testing.T) {
	for _, c := range []struct{ rate, size, latest float64 }{
		{15, 1, 600}, {15, 30, 600}, {15, 100, 600}, {4, 10, 600}, {2, 5, 600},
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

// Growth as slow as a daily pattern is a leak after half a day.
func TestSlowLeakIsFound(t *testing.T) {
	for _, c := range []struct{ base, perHour, size float64 }{
		{6, 200, 3}, {6, 200, 20}, {40, 1800, 60},
	} {
		r := regime.Seeded(21)
		y := ramp(18*3600, c.base*gib, c.perHour/3600*mib)
		for i := range y {
			y[i] += c.size * mib * r.NormFloat64()
		}
		if _, first := leaking(y); first < 0 || first < 10*3600 || first > 18*3600 {
			t.Errorf("%v MiB an hour out of %v GiB, noise of %v MiB: %d s", c.perHour, c.base, c.size, first)
		}
	}
}

// After a long plateau a leak is found within ten minutes, whatever was loaded before the plateau.
func TestLeakAfterPlateauIsFoundInMinutes(t *testing.T) {
	r := regime.Seeded(22)
	y := saturating(3000, 5*gib, 20*gib, 100, 0, 0)
	y = append(y, ramp(1200, y[len(y)-1], 25*mib)...)
	for i := range y {
		y[i] += 20 * mib * r.NormFloat64()
	}
	if _, first := leaking(y); first < 3000 || first > 3000+600 {
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

// Loading weights is no leak, and neither is a cache to which every epoch adds less.
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

// A leak is found under a sawtooth as tall as minutes of growth. The same sawtooth alone is no
// leak.
func TestLeakUnderSawtoothIsGrowthOfMinima(t *testing.T) {
	r := regime.Seeded(23)
	with, without := make([]float64, 4500), make([]float64, 4500)
	for i := range with {
		cycle := 4*gib*float64(i%90)/90 + 20*mib*r.NormFloat64()
		with[i], without[i] = 20*gib+cycle+12*mib*float64(i), 20*gib+cycle
	}
	if _, first := leaking(with); first < 0 || first > 1200 {
		t.Errorf("the leak is called one at %d s", first)
	}
	if count, first := leaking(without); count > 0 {
		t.Errorf("a sawtooth is called a leak at %d s, for %d s", first, count)
	}
}

// The mark of a leak ends soon after the leak, and does not flicker while the leak grows.
func TestLeakMarkEndsWithLeak(t *testing.T) {
	r := regime.Seeded(24)
	y := slices.Concat(flat(900, 10*gib), ramp(1800, 10*gib, 20*mib), flat(1800, 10*gib+1800*20*mib))
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
	if marks != 1 || last < 2700 || last > 2700+700 {
		t.Errorf("marked %d times, at last at %d s; it ends at 2700 s", marks, last)
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
	for i, v := range ramp(3000, 20*gib, 15*mib) {
		f.Observe(after(4500+float64(i)), int64(v))
		if first < 0 && f.Trend() == Leak {
			first = i
		}
	}
	if first < 0 || first > 600 {
		t.Errorf("called a leak %d s after the gap", first)
	}
}

// Rows of lows keep the newest of each length, newest first.
func TestLowsAreKeptInRows(t *testing.T) {
	for _, minutes := range []int{1, 2, 19, 20, 21, 41, 1000, 5000} {
		var l lows
		for i := range minutes {
			l.add(float32(i))
		}
		for k, r := range l.Rows {
			slots := minutes >> k
			if int(r.Size) != min(slots, lowCap) {
				t.Fatalf("%d minutes: %d slots of %d", minutes, r.Size, 1<<k)
			}
			for i := range int(r.Size) {
				if want := float32((slots - 1 - i) << k); r.Lows[i] != want {
					t.Fatalf("%d minutes: slot %d of %d is %v, want %v", minutes, i, 1<<k, r.Lows[i], want)
				}
			}
		}
	}
}

// Eight lows after a plateau: the cases say which of them are a leak.
func TestLeakIsEvenGrowthOfLows(t *testing.T) {
	plateau := []float64{10, 10, 10.1, 10, 10, 10.1, 10, 10}
	for _, tc := range []struct {
		name   string
		before []float64
		lows   []float64
		want   bool
	}{
		{"a line", plateau, []float64{10, 11, 12, 13, 14, 15, 16, 17}, true},
		{"even steps", plateau, []float64{10, 11, 11, 12, 13, 13, 14, 15}, true},
		{"a line from the start", nil, []float64{10, 11, 12, 13, 14, 15, 16, 17}, true},
		{"a line, judged a minute late", []float64{9}, []float64{10, 11, 12, 13, 14, 15, 16, 17}, true},
		{"a line, too late to be from the start", []float64{8, 9}, []float64{10, 11, 12, 13, 14, 15, 16, 17}, false},
		{"faster from the start", nil, []float64{10, 10.8, 11.7, 12.7, 13.8, 15, 16.3, 17.7}, false},
		{"uneven from the start", nil, []float64{10, 11, 11, 12, 13, 13, 14, 15}, false},
		{"one step", plateau, []float64{10, 10, 10, 15, 15, 15, 15, 15}, false},
		{"up and down", plateau, []float64{10, 12, 11, 13, 10, 12, 11, 13}, false},
		{"falling", plateau, []float64{10, 9, 8, 7, 6, 5, 4, 3}, false},
		{"slowing", plateau, []float64{10, 14, 17.5, 20.6, 23.3, 25.7, 27.8, 29.7}, false},
		{"faster", plateau, []float64{10, 10.8, 11.8, 13, 14.4, 16, 17.8, 20}, true},
		{"up to where it was", []float64{17, 17, 17, 17, 10, 10, 10, 10, 10, 10, 10, 10}, []float64{10, 11, 12, 13, 14, 15, 16, 17}, false},
		{"noticeably above", []float64{16, 16, 16, 16, 10, 10, 10, 10, 10, 10, 10, 10}, []float64{10, 11, 12, 13, 14, 15, 16, 17}, true},
		{"as slow as a day's course", plateau, []float64{10, 10.02, 10.04, 10.06, 10.08, 10.1, 10.12, 10.14}, false},
	} {
		var l lows
		for _, low := range slices.Concat(tc.before, tc.lows) {
			l.add(float32(low * gib))
		}
		if rate := l.leak(0, 60); rate > 0 != tc.want {
			t.Errorf("%s: leaks %.0f bytes a second", tc.name, rate)
		}
	}
}

// A sine with the period of a day rises evenly for hours. It is no leak, at whatever time of the
// day it is first seen.
func TestDaysSineIsNoLeak(t *testing.T) {
	const step = 30.0
	for hour := range 8 {
		f := New()
		for i := range int(86_400 / step) {
			now := step * float64(i)
			f.Observe(after(now), int64(40*gib+12*gib*math.Sin(2*math.Pi*(now/86_400+float64(hour)/8))))
			if f.Trend() == Leak {
				t.Fatalf("first seen at %d h: a leak after %.1f h", 3*hour, now/3600)
			}
		}
	}
}
