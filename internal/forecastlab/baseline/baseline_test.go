package baseline

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/forecast"
)

const gib = 1 << 30

func minuteAhead(t *testing.T, name string, y []float64) float64 {
	t.Helper()
	for _, b := range All() {
		if b.Name != name {
			continue
		}
		m := b.New()
		for i, v := range y {
			m.Observe(time.Unix(int64(i), 0), int64(v))
		}
		return float64(m.Forecasts(nil)[2].Median)
	}
	t.Fatalf("there is no %s", name)
	return 0
}

func made(n int, level func(i int) float64) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = level(i)
	}
	return y
}

// Methods with a trend continue a line; after a bend each follows its definition.
func TestBaselinesFollowTheirDefinitions(t *testing.T) {
	bent := made(200, func(i int) float64 { return 10*gib + float64(max(i-100, 0))*gib/100 })
	last := bent[199]
	for name, want := range map[string]float64{
		"SES": last, "Holt": last + 60*gib/100., "weighted experts": last + 60*gib/100.,
	} {
		if got := minuteAhead(t, name, bent); math.Abs(got-want) > 0.02*gib {
			t.Errorf("%s: %.3f GiB, want %.3f", name, got/gib, want/gib)
		}
	}
	if got := minuteAhead(t, "damped Holt", bent); got <= last+0.1*gib || got >= last+0.6*gib {
		t.Errorf("damped Holt: %.3f GiB from %.3f", got/gib, last/gib)
	}
	r := rand.New(rand.NewPCG(1, 2))
	noise := made(500, func(int) float64 { return 20*gib + gib*r.NormFloat64() })
	for _, name := range []string{"SES", "weighted experts"} {
		if got := minuteAhead(t, name, noise); math.Abs(got-20*gib) > gib/4 {
			t.Errorf("%s: %.3f GiB of noise around 20", name, got/gib)
		}
	}
}

func TestWeightedExpertsRepeatSawtooth(t *testing.T) {
	saw := func(i int) float64 { return 20*gib + 4*gib*float64(i%47)/47 + float64(i)*gib/1000 }
	for n := 900; n < 950; n += 9 {
		want := saw(n - 1 + 60)
		if got := minuteAhead(t, "weighted experts", made(n, saw)); math.Abs(got-want) > 0.4*gib {
			t.Errorf("after %d samples %.2f GiB, want %.2f", n, got/gib, want/gib)
		}
	}
	if p := period(made(600, func(i int) float64 { return math.Sin(float64(i * i)) })); p != 0 {
		t.Errorf("noise has a period of %d", p)
	}
}

func TestOneSampleIsNotForecast(t *testing.T) {
	young := All()[0].New()
	young.Observe(time.Unix(0, 0), gib)
	if got := young.Forecasts([]forecast.Interval{}); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
