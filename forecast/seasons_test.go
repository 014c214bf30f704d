package forecast

import (
	"math"
	"testing"
	"time"

	"vramscope/internal/forecastlab/regime"
)

// sawn returns n seconds of a sawtooth of a period on a rise, with noise.
func sawn(n, period int, perCycle float64) []float64 {
	r := regime.Seeded(20)
	y := make([]float64, n)
	for i := range y {
		y[i] = 20*gib + 4*gib*float64(i%period)/float64(period) + perCycle*float64(i/period) + 10*mib*r.NormFloat64()
	}
	return y
}

// Forecasts for half a minute to two minutes ahead follow the phase of the sawtooth.
func TestSawtoothIsForecastInPhase(t *testing.T) {
	for _, period := range []int{23, 47, 150, 400} {
		for _, perCycle := range []float64{0, 0.3 * gib} {
			y := sawn(4000, period, perCycle)
			const from, samples = 3500, 100
			f := fed(y[:from], 1)
			wrong := make(map[int]float64)
			for i := from; i < from+samples; i++ {
				f.Observe(after(float64(i)), int64(y[i]))
				for _, ahead := range []int{30, 60, 120} {
					in, _ := at(f, time.Duration(ahead)*time.Second)
					wrong[ahead] += math.Abs(float64(in.Median)-y[i+ahead]) / samples
				}
			}
			for ahead, w := range wrong {
				if w > 0.6*gib {
					t.Errorf("cycles of %d s, %.1f GiB each higher, %d s ahead: %.2f GiB wrong, cycles have 4", period, perCycle/gib, ahead, w/gib)
				}
			}
		}
	}
}

func TestPhaseNeedsEvenCycles(t *testing.T) {
	at := func(peaks []float64, now float64) bool {
		var s seasons
		began, next := 0.0, peaks
		for i := range int(now) {
			up := 0.5
			if len(next) > 0 {
				up = (float64(i) - began) / (next[0] - began)
			}
			s.observe(int64(i)*1e9, (16+4*up)*gib, 1)
			if len(next) > 0 && float64(i) == next[0] {
				began, next = next[0], next[1:]
			}
		}
		phase := s.phase(int64(now*1e9), 18*gib)
		return phase.length > 0 && phase.claim(60, 18*gib) != 0
	}
	for _, tc := range []struct {
		name  string
		peaks []float64
		now   float64
		want  bool
	}{
		{"one peak", []float64{100}, 120, false},
		{"two", []float64{100, 150}, 170, true},
		{"even", []float64{100, 150, 198, 251}, 270, true},
		{"half as long again", []float64{100, 150, 225}, 240, true},
		{"uneven", []float64{100, 150, 250}, 270, false},
		{"overdue by half a cycle", []float64{100, 150, 200}, 275, true},
		{"long overdue", []float64{100, 150, 200}, 276, false},
		{"longer than what is remembered", []float64{100, 900, 1700}, 2200, false},
		{"as short as samples lie apart", []float64{100, 102, 104}, 106, false},
	} {
		if got := at(tc.peaks, tc.now); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}

// The steps of a staircase are peaks too, each higher than the last, even if noise on a step has
// new highs. So is a step that begins with an evaluation.
func TestStaircaseHasPeaks(t *testing.T) {
	for _, tc := range []struct{ every, evaluation int }{{15, 0}, {25, 0}, {300, 0}, {400, 60}} {
		r := regime.Seeded(21)
		var s seasons
		steps := 6 * tc.every
		for i := range steps + tc.every/2 + 6 {
			level := 10*gib + float64(i/tc.every)*2*gib
			if tc.every-i%tc.every <= tc.evaluation {
				level += 1.5 * gib
			}
			s.observe(int64(i)*1e9, level+5*mib*r.NormFloat64(), 1)
		}
		now := int64(steps+tc.every/2) * 1e9
		if got := s.period(now); got != int64(tc.every)*1e9 || s.Peaks[0].At != int64(steps)*1e9 {
			t.Errorf("steps every %d s: a period of %v s, %+v", tc.every, got/1e9, s.Peaks)
		}
		if s.swings(now) {
			t.Errorf("steps every %d s: it goes up and down", tc.every)
		}
	}
}

// A pool that grows in steps and is then emptied is not expected to grow beyond its highest level.
func TestStepsOfAPoolDoNotFillTheGPU(t *testing.T) {
	f := New()
	for i := range 2000 {
		used := int64(50*gib + float64(i%170/23)*1.6*gib)
		f.Observe(after(float64(i)), used)
		if full, ok := f.FullIn(int64(80*gib) - used); ok {
			t.Fatalf("after %d s it is full in %v", i, full.Median)
		}
	}
}

// The lowest level of a cycle is the lowest of all its bins that are still kept.
func TestLowestLevelOfACycle(t *testing.T) {
	for _, at := range []int64{1201, 1202, 1600, 2000} {
		s := seasons{Bin: 1e9, Newest: 2000, Oldest: 2000 - pastCap + 1}
		for bin := range s.Bins {
			s.Bins[bin] = 10 << 30
		}
		s.Bins[at%pastCap] = 4 << 30
		if s.peaked(peak{2000e9, 12 * gib}); s.Lowest != 4*gib {
			t.Errorf("lowest in bin %d: %.1f GiB, want 4", at, s.Lowest/gib)
		}
	}
}

// Peaks rise while each is above the one before: an equal one is not.
func TestRisingPeaks(t *testing.T) {
	for third, want := range map[float64]uint16{10.5: 1, 11: 1, 11.5: 3} {
		s := seasons{Bin: 1e9, Newest: 300}
		for i, height := range []float64{10, 11, third} {
			s.peaked(peak{int64(100+50*i) * 1e9, height * gib})
		}
		if s.Rising != want {
			t.Errorf("10, 11, %v GiB: %d rise, want %d", third, s.Rising, want)
		}
	}
}

// A rise was a step if the series then falls by no more than minChange.
func TestFallAfterAStep(t *testing.T) {
	for _, fall := range []float64{minChange - 1, minChange} {
		var s seasons
		for i := range 20 {
			y := 100.0 * mib
			if i > 2 {
				y = 500 * mib
			}
			if i > 4 {
				y -= fall
			}
			s.observe(int64(i)*1e9, y, 1)
		}
		if s.Size != 1 || s.Peaks[0].At != 3e9 {
			t.Errorf("falls by %.0f: %d peaks, %+v", fall, s.Size, s.Peaks[0])
		}
	}
}

// A missing sample has the value before it.
func TestPastIsKeptInBins(t *testing.T) {
	var s seasons
	for i := range 3000 {
		if i%5 != 3 && i%5 != 4 {
			s.observe(int64(i)*1e9, float64(i), 1)
		}
	}
	for _, tc := range [][2]float64{{2995, 2995}, {2993, 2992}, {2994, 2992}, {2500, 2500}, {9999, 2997}, {10, 2997 - pastCap + 1}} {
		if got := s.at(int64(tc[0] * 1e9)); math.Abs(got-tc[1]) > 2 {
			t.Errorf("at %v: %v, want %v", tc[0], got, tc[1])
		}
	}
	s.observe(1e15, 7, 1)
	if got := s.at(2990e9); got != 2997 {
		t.Errorf("after eleven days without a sample the past is %v, not the last sample before", got)
	}
}

// The peaks of a rising sawtooth fill a GPU.
func TestFullInCountsPeaks(t *testing.T) {
	const room = 6 * gib
	y := sawn(4000, 60, 0.6*gib)
	f := fed(y[:3000], 1)
	left := 1
	for y[2999+left] < y[2999]+room {
		left++
	}
	full, ok := f.FullIn(int64(room))
	if !ok || math.Abs(full.Median.Seconds()-float64(left)) > 0.15*float64(left) {
		t.Errorf("full in %v (%t), it is in %d s", full.Median, ok, left)
	}
}

// Noise has peaks too, at intervals that may look even for a while.
func TestNoiseHasNoSeasonalPhase(t *testing.T) {
	for seed := range uint64(20) {
		y := regime.Noise(regime.Seeded(seed))
		f := New()
		n := 0
		for i, v := range y {
			f.Observe(after(float64(i)), int64(v))
			if f.state.Seasons.phase(f.state.Now, v).length > 0 {
				n++
			}
		}
		if n > len(y)/20 {
			t.Errorf("seed %d: a phase at %d of %d samples", seed, n, len(y))
		}
	}
}

// A cycle that runs faster than the last ends sooner. Its height shows that it is faster.
func TestPhaseFollowsPaceOfCycle(t *testing.T) {
	cycle := func(f *Forecaster, from, length, until int) int {
		for i := range until {
			f.Observe(after(float64(from+i)), int64(20*gib+6*gib*float64(i)/float64(length)))
		}
		return from + until
	}
	for _, length := range []int{80, 90, 110, 120} {
		f := New()
		now := 0
		for range 4 {
			now = cycle(f, now, 100, 100)
		}
		cycle(f, now, length, 60)
		r := f.state.Seasons.phase(f.state.Now, f.state.Last)
		if ends := r.whole - r.phase; r.length == 0 || math.Abs(ends-float64(length-60)) > 8 {
			t.Errorf("a cycle of %d s after 60 s ends in %.0f s", length, ends)
		}
	}
}

// A cycle is placed at its age in the last cycle, or up to half of its age later, however high it is,
// and at any sampling interval.
func TestCycleIsPlacedByItsAge(t *testing.T) {
	for _, step := range []int{1, 4} {
		var s seasons
		now, length := 0, 100*step
		observe := func(samples int, height float64) {
			for i := range samples {
				s.observe(int64(now)*1e9, 20*gib+height*float64(i)/100, float64(step))
				now += step
			}
		}
		for range 4 {
			observe(100, 6*gib)
		}
		observe(31, 15*gib)
		age := now - step - 4*length
		if r := s.phase(int64(now-step)*1e9, 20*gib+15*gib*0.3); r.length == 0 || r.place < float64(age) || r.place > 1.5*float64(age)+2*float64(step) {
			t.Errorf("every %d s: a cycle that is %d s old is placed at %v s", step, age, r.place)
		}
	}
}

// A peak soon after the last belongs to the same rise, unless the whole rise is longer than
// everything before it.
func TestRiseInTwoStepsHasOnePeak(t *testing.T) {
	for _, tc := range []struct {
		name  string
		peaks []int64
		want  uint16
	}{
		{"first", []int64{100, 110}, 1},
		{"second", []int64{100, 150, 160}, 2},
		{"second, seen soon after the start", []int64{10, 60, 70}, 3},
		{"third", []int64{100, 150, 200, 210}, 3},
		{"third, half as long again after the second", []int64{100, 150, 215, 225}, 4},
		{"none", []int64{100, 150, 200}, 3},
	} {
		s := seasons{Bin: 1e9, Newest: 300}
		for _, at := range tc.peaks {
			s.peaked(peak{at * 1e9, 10 * gib})
		}
		if s.Size != tc.want {
			t.Errorf("%s: %d peaks, want %d", tc.name, s.Size, tc.want)
		}
	}
}
