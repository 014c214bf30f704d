package forecast

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/internal/forecastlab/regime"
)

// noisy is a path with normal noise of so many bytes.
func noisy(seed uint64, size float64, seconds int, path func(t float64) float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 3))
	y := make([]float64, seconds)
	for t := range y {
		y[t] = path(float64(t)) + size*r.NormFloat64()
	}
	return y
}

// Half a minute after growth has begun out of a long plateau, or has ended after a
// long rise, no forecast made since has come due. Intervals hold the truth anyway.
func TestIntervalsExtendAlongNewCourse(t *testing.T) {
	const changes = 1800
	for name, path := range map[string]func(t float64) float64{
		"a leak begins": func(t float64) float64 { return 30*gib + 30*mebibyte*max(t-changes, 0) },
		"a leak ends":   func(t float64) float64 { return 10*gib + 20*mebibyte*min(t, changes) },
		"a fall begins": func(t float64) float64 { return 60*gib - 25*mebibyte*max(t-changes, 0) },
	} {
		y := noisy(1, 20*mebibyte, changes+700, path)
		f := fed(y[:changes+30], 1)
		held, all := 0, 0
		for now := changes + 30; now < changes+300; now++ {
			f.Observe(after(float64(now)), int64(y[now]))
			for _, h := range []time.Duration{time.Minute, 5 * time.Minute} {
				in, _ := f.At(h)
				came := int64(y[now+int(h.Seconds())])
				all++
				if in.Lower95 <= came && came <= in.Upper95 {
					held++
				}
			}
		}
		if held < all*9/10 {
			t.Errorf("%s: from half a minute to five minutes later %d of %d lie within the interval of 95 %%", name, held, all)
		}
	}
}

// A step misses the forecast as far as a new course does, but is no line; the rises
// of a sawtooth are lines, but are forecast.
func TestStepsAndSawtoothAreNoNewCourse(t *testing.T) {
	step := noisy(2, 20*mebibyte, 2400, func(t float64) float64 {
		if t >= 1800 {
			return 50 * gib
		}
		return 30 * gib
	})
	f := fed(step[:1800], 1)
	for i, v := range step[1800:] {
		f.Observe(after(float64(1800+i)), int64(v))
		if f.state.Course > 0 {
			t.Fatalf("%d s after a step it is a course", i)
		}
	}
	saw := regime.Sawtooth(regime.Seeded(1))
	f = New()
	on := 0
	for i, v := range saw {
		f.Observe(after(float64(i)), int64(v))
		if f.state.Course > 0 && i > len(saw)/2 {
			on++
		}
	}
	if share := float64(on) / float64(len(saw)/2); share > 0.05 {
		t.Errorf("a sawtooth is a new course at %.0f %% of the samples", 100*share)
	}
}

// How far a course is followed depends on how long it has lasted.
func TestYoungCourseExtendsIntervalLittle(t *testing.T) {
	c := course{on: true, up: true, age: 20, slope: mebibyte}
	narrow := spread{-1, 1, -2, 2}
	for _, test := range []struct {
		age, horizon     float64
		upper80, upper95 float64 // seconds of slope
	}{
		{20, 60, 60, 60}, {20, 300, 180, 300}, {20, 900, 180, 780}, {100, 900, 900, 900}, {151, 60, 0, 0},
	} {
		c.age = test.age
		got := c.reach(narrow, narrow, 0, test.horizon)
		want := spread{-1, 1 + test.upper80*mebibyte, -2, 2 + test.upper95*mebibyte}
		if got != want {
			t.Errorf("%v s old, %v s ahead: %+v, want %+v", test.age, test.horizon, got, want)
		}
	}
}

// The uncertainty of a course's slope widens the interval too, on its own side.
func TestCourseExtendsIntervalByUncertainSlope(t *testing.T) {
	narrow := spread{-1, 1, -2, 2}
	to80, to95 := (1+z80)*60*mib, (1+z95)*60*mib
	for _, test := range []struct {
		c    course
		want spread
	}{
		{course{on: true, up: true, age: 100, slope: mib, unsure: mib}, spread{-1, 1 + to80, -2, 2 + to95}},
		{course{on: true, age: 100, slope: -mib, unsure: mib}, spread{-1 - to80, 1, -2 - to95, 2}},
	} {
		got := test.c.reach(narrow, narrow, 0, 60)
		for i, off := range []float64{
			got.Lower80 - test.want.Lower80, got.Upper80 - test.want.Upper80,
			got.Lower95 - test.want.Lower95, got.Upper95 - test.want.Upper95,
		} {
			if math.Abs(off) > 0.5 {
				t.Errorf("up %v: bound %d is off by %v bytes", test.c.up, i, off)
			}
		}
	}
}

// A course begins at the last sample before a miss, has the slope of the samples
// since, and ends where they leave the line.
func TestCourseIsTheLineSinceTheMiss(t *testing.T) {
	const rate = 10 * mebibyte
	missed := &record{Scored: 100e9, Missed: 200 * mebibyte, Errors: residuals{Size: residualCap, Spread: spread{-mebibyte, mebibyte, -mebibyte, mebibyte}}}
	var past seasons
	past.observe(99e9, gib, 1)
	var c changepoint
	var got course
	for second := range int64(20) {
		y := gib + rate*float64(second+1)
		got = c.observe((100+second)*1e9, (99+second)*1e9, y, y-rate, missed, 10, &past)
		if early := second < fewOnLine-1; got.on == early {
			t.Fatalf("%d samples after the miss: %+v", second, got)
		}
	}
	if !got.up || !got.clear || got.age != 20 || math.Abs(got.slope-rate) > 1 || !got.announces() {
		t.Errorf("%+v", got)
	}
	if got = c.observe(120e9, 119e9, gib, gib+20*rate, missed, 10, &past); got.on {
		t.Errorf("it has fallen back: %+v", got)
	}
}
