package forecast

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"vramscope/internal/forecastlab/regime"
)

// A series costs at most 12 KB, and a sample no allocation.
func TestSeriesFitsMemoryBudget(t *testing.T) {
	if size := unsafe.Sizeof(Forecaster{}); size > 12_000 {
		t.Errorf("a series takes %d bytes", size)
	}
	f := fed(regime.LeakUnderSawtooth(regime.Seeded(12))[:500], 1)
	room := make([]Interval, 0, len(Horizons))
	i := 500
	allocations := testing.AllocsPerRun(1000, func() {
		f.Observe(after(float64(i)), int64(i%37)<<28)
		room = f.Forecasts(room[:0])
		f.FullIn(1 << 33)
		f.GrowthPerSecond()
		i++
	})
	if allocations != 0 {
		t.Errorf("a sample allocates %v times", allocations)
	}
}

// A series that is constant for months leaves no denormal numbers, with which processors compute
// many times more slowly.
func TestConstantSeriesCostsNoMore(t *testing.T) {
	f := fed(regime.LeakUnderSawtooth(regime.Seeded(12))[:900], 1)
	const samples, step = 40_000, 120
	for i := range samples {
		f.Observe(after(900+step*float64(i)), 7<<30)
	}
	s := &f.state
	numbers := []float64{s.Auto.From, s.Auto.Change, s.Auto.FromSquared, s.Auto.FromChange}
	for _, r := range []*regression{&s.Lines[0], &s.Lines[1], &s.Lines[2]} {
		numbers = append(numbers, r.Y, r.XY, r.YY)
	}
	const smallest = 0x1p-1022 // the smallest number that is not denormal
	for i, v := range numbers {
		if v != 0 && math.Abs(v) < smallest {
			t.Errorf("number %d is %v", i, v)
		}
	}
}

// BenchmarkSample observes a sample and asks for all forecasts, as the monitor does.
func BenchmarkSample(b *testing.B) {
	for _, g := range regime.All() {
		y := g.Make(regime.Seeded(13))
		for _, rate := range []struct {
			name string
			step time.Duration
		}{{"1Hz", time.Second}, {"10Hz", 100 * time.Millisecond}} {
			b.Run(g.Name+"/"+rate.name, func(b *testing.B) {
				f := New()
				room := make([]Interval, 0, len(Horizons))
				now := noon
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					now = now.Add(rate.step)
					f.Observe(now, int64(y[i%len(y)]))
					room = f.Forecasts(room[:0])
					f.FullIn(1 << 33)
					f.GrowthPerSecond()
				}
				b.ReportMetric(float64(unsafe.Sizeof(*f)), "B/series")
			})
		}
	}
}

// BenchmarkObserveManySeries cycles through about twice as many forecasters as a box with 16 GPUs of 64
// processes each has. The state of a forecaster has left the CPU caches before its next sample.
func BenchmarkObserveManySeries(b *testing.B) {
	const series = 2064
	y := regime.LeakUnderSawtooth(regime.Seeded(13))
	all := make([]*Forecaster, series)
	for i := range all {
		all[i] = New()
	}
	room := make([]Interval, 0, len(Horizons))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f, second := all[i%series], i/series
		f.Observe(noon.Add(time.Duration(second)*time.Second), int64(y[(second+i)%len(y)]))
		room = f.Forecasts(room[:0])
		f.FullIn(1 << 33)
		f.GrowthPerSecond()
	}
	b.ReportMetric(float64(unsafe.Sizeof(*all[0])), "B/series")
}
