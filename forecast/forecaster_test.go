package forecast

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"vramscope/internal/forecastlab/regime"
)

// fed returns a forecaster that has seen the samples y, one every step seconds from noon.
func fed(y []float64, step float64) *Forecaster {
	f := New()
	for i, v := range y {
		f.Observe(after(float64(i)*step), int64(v))
	}
	return f
}

func after(seconds float64) time.Time { return noon.Add(time.Duration(seconds * 1e9)) }

func ramp(n int, from, perSecond float64) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = from + perSecond*float64(i)
	}
	return y
}

func flat(n int, level float64) []float64 { return ramp(n, level, 0) }

func TestYoungSeriesHasNoForecast(t *testing.T) {
	f := New()
	for i := range MinSamples {
		if f.Trend() != Young || len(f.Forecasts(nil)) != 0 {
			t.Fatalf("a forecast after %d samples", i)
		}
		if _, ok := f.FullIn(0); ok {
			t.Fatalf("full in after %d samples", i)
		}
		if _, ok := f.GrowthPerSecond(); ok {
			t.Fatalf("growth after %d samples", i)
		}
		f.Observe(after(float64(i)), int64(10*gib+float64(i)*gib))
	}
	if len(f.Forecasts(nil)) == 0 || f.Trend() == Young {
		t.Errorf("no forecast after %d samples", MinSamples)
	}
}

func TestConstantSeriesIsForecastConstant(t *testing.T) {
	f := fed(flat(600, 41*gib), 1)
	for _, in := range f.Forecasts(nil) {
		want := Interval{in.Horizon, 41 << 30, 41 << 30, 41 << 30, 41 << 30, 41 << 30}
		if in != want {
			t.Errorf("got %+v", in)
		}
	}
	if f.Trend() != Steady {
		t.Errorf("it is %v", f.Trend())
	}
	if full, ok := f.FullIn(0); ok {
		t.Errorf("a GPU that is full is forecast to become full: %+v", full)
	}
}

func TestForecastsAreAtEachHorizon(t *testing.T) {
	all := fed(regime.Leak(regime.Seeded(1))[:900], 1).Forecasts(nil)
	if len(all) != len(Horizons) {
		t.Fatalf("%d forecasts", len(all))
	}
	for i, h := range Horizons {
		if all[i].Horizon != h {
			t.Errorf("%d: %+v, want %v", i, all[i], h)
		}
	}
}

func TestSampleNotLaterIsIgnored(t *testing.T) {
	y := regime.Leak(regime.Seeded(2))[:300]
	want := fed(y, 1)
	f := New()
	for i, v := range y {
		f.Observe(after(float64(i)), int64(v))
		f.Observe(after(float64(i)), int64(v)+1<<30)
		f.Observe(after(float64(i)-0.5), 0)
		f.Observe(after(float64(i)-59), 0)
	}
	if !reflect.DeepEqual(f, want) {
		t.Error("samples that are not later than the last were taken")
	}
}

func TestClockSetBackIsFollowed(t *testing.T) {
	f := fed(ramp(600, 10*gib, 20*mib), 1)
	for i := 600; i < 800; i += 2 { // an hour back, and half as often
		f.Observe(after(float64(i)-3600), int64(10*gib+float64(i)*20*mib))
	}
	in, _ := at(f, time.Minute)
	if want := 10*gib + 858*20*mib; math.Abs(float64(in.Median)-want) > 100*mib {
		t.Errorf("got %.2f GiB, want %.2f", float64(in.Median)/gib, want/gib)
	}
}

// If a clock is set back by less than a minute, the forecaster waits until the clock has caught up.
func TestClockSetBackALittle(t *testing.T) {
	for back, want := range map[float64]int{59.999: 100, 60: 101} {
		f := fed(flat(100, 20*gib), 1)
		f.Observe(after(99-back), 20<<30)
		if got := int(f.state.Count); got != want {
			t.Errorf("%v s back: %d samples are taken, want %d", back, got, want)
		}
	}
}

// The usual time between samples follows the samples, but a single interval counts as at most twice
// the usual time. Gaps do not count.
func TestStepFollowsTheSamples(t *testing.T) {
	for every, want := range map[float64]float64{0.5: 0.5, 1: 1, 4: 4} {
		f := fed(flat(100, 20*gib), 1)
		for i := range 200 {
			f.Observe(after(99+float64(i+1)*every), 20<<30)
		}
		if got := f.state.Step; math.Abs(got-want) > 0.01*want {
			t.Errorf("samples every %v s seem to come every %.3f s", every, got)
		}
	}
	for gap, want := range map[bool]float64{false: 1 + 1.0/MinSamples, true: 1} {
		f := fed(flat(100, 20*gib), 1)
		if gap {
			f.Gap(after(100))
		}
		if f.Observe(after(99+3600), 20<<30); f.state.Step != want {
			t.Errorf("after an hour, a gap: %t, samples seem to come every %v s, want %v", gap, f.state.Step, want)
		}
	}
}

// A gap before the first sample, or from a time before the newest sample, does not count.
func TestGapIsAfterTheNewestSample(t *testing.T) {
	y := regime.Leak(regime.Seeded(2))[:300]
	f := New()
	f.Gap(after(0))
	for i, v := range y {
		f.Observe(after(float64(i)), int64(v))
		f.Gap(after(float64(i) - 1))
	}
	if !reflect.DeepEqual(f, fed(y, 1)) {
		t.Error("gaps of the past are heeded")
	}
}

// A job has ended, or the next one has begun, if nearly no memory is left or was there before.
func TestNextJobBegins(t *testing.T) {
	for levels, want := range map[[2]float64]bool{
		{0, minChange}: true, {0, minChange - 1}: false, {40 * gib, gib}: true, {20 * minChange, minChange}: false, {40 * gib, 3 * gib}: false, {gib, 40 * gib}: true,
	} {
		f := fed(append(flat(100, levels[0]), levels[1]), 1)
		if got := f.state.Began == 99e9+1e9; got != want {
			t.Errorf("from %.0f to %.0f bytes: %t", levels[0], levels[1], got)
		}
	}
}

// In its first minute, a second job is forecast to stay where it is, unless it grows in a line.
func TestFirstMinuteOfAJob(t *testing.T) {
	for name, tc := range map[string]struct {
		path func(t float64) float64
		want int // the first forecast of a change
	}{
		"line":  {func(t float64) float64 { return 20*gib + 100*mib*t }, 12},
		"curve": {func(t float64) float64 { return 20*gib + 10*mib*t*t }, 60},
	} {
		f, first := fed(flat(600, 0), 1), -1
		for i := range 70 {
			f.Observe(after(600+float64(i)), int64(tc.path(float64(i))))
			if first < 0 && f.state.Outlook[0].Change != 0 {
				first = i
			}
		}
		if first != tc.want {
			t.Errorf("%s: a change is forecast after %d s, want %d", name, first, tc.want)
		}
	}
}

// Memory is new if it is more than the series had in the previous twenty minutes.
func TestTopIsOfTheLastMinutes(t *testing.T) {
	const high, usual = 30 * gib, 20 * gib
	f := fed(slices.Concat(flat(600, high), flat(1200, usual)), 1)
	if top := f.state.Top.Height; top != high {
		t.Errorf("twenty minutes after the highest level it is %.1f GiB", top/gib)
	}
	f.Observe(after(1800), int64(usual))
	if top := f.state.Top.Height; top != usual {
		t.Errorf("a second later it is %.1f GiB", top/gib)
	}
}

// A change within a gap does not score the forecasts that came due in it.
func TestForecastsDueInGapAreNotScored(t *testing.T) {
	gap, late := fed(flat(80, 20*gib), 1), fed(flat(80, 20*gib), 1)
	gap.Gap(after(79))
	for i := 92; i < 120; i++ {
		gap.Observe(after(float64(i)), int64(50*gib))
		late.Observe(after(float64(i)), int64(50*gib))
	}
	in, _ := at(gap, 10*time.Second)
	if in.Upper95 > int64(51*gib) {
		t.Errorf("a change in a gap widens the interval to %.1f GiB", float64(in.Upper95)/gib)
	}
	if out, _ := at(late, 10*time.Second); out.Upper95 < int64(52*gib) {
		t.Errorf("a jump between two late samples leaves the interval at %.1f GiB", float64(out.Upper95)/gib)
	}
}

// A job that fills the GPU ends, and the next one leaks too. The end of the first job does not
// count against the growth of the second.
func TestNextJobStartsWithoutWeights(t *testing.T) {
	job := append(flat(600, 30*gib), ramp(900, 30*gib, 40*mib)...)
	once := fed(job, 1)
	twice := fed(slices.Concat(job, flat(30, 0), job), 1)
	want, ok := once.FullIn(int64(15 * gib))
	got, again := twice.FullIn(int64(15 * gib))
	if !ok || !again || math.Abs((got.Median-want.Median).Seconds()) > 0.05*want.Median.Seconds() {
		t.Errorf("full in %v (%t), the first job in %v (%t)", got.Median, again, want.Median, ok)
	}
	if twice.Trend() != Leak {
		t.Errorf("the second leak is %v", twice.Trend())
	}
	// The error of forecasts at the end of the first job is remembered.
	if in, _ := at(twice, 5*time.Minute); in.Lower95 > int64(40*gib) {
		t.Errorf("at 5 min %.1f GiB at least, though a job has ended before", float64(in.Lower95)/gib)
	}
}

// Samples are missing, or come late or twice.
func TestLeakIsForecastFromIrregularSamples(t *testing.T) {
	const rate = 25 * mib
	r := regime.Seeded(4)
	f := New()
	var now float64
	for now < 1200 {
		now += []float64{1, 1, 2, 1.7, 5, 0.3}[r.IntN(6)]
		for range 1 + r.IntN(2) {
			f.Observe(after(now), int64(10*gib+rate*now+20*mib*r.NormFloat64()))
		}
	}
	full, ok := f.FullIn(int64(250 * rate))
	if !ok || math.Abs(full.Median.Seconds()-250) > 0.05*250 {
		t.Errorf("got %+v %v, want 250 s", full, ok)
	}
	if f.Trend() != Leak {
		t.Errorf("it is %v", f.Trend())
	}
}

func TestEqualSamplesGiveEqualForecasts(t *testing.T) {
	y := regime.LeakUnderSawtooth(regime.Seeded(5))
	if !reflect.DeepEqual(fed(y, 1), fed(y, 1)) {
		t.Error("two forecasters of one series differ")
	}
}
