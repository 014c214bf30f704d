package baseline

import (
	"math"
	"math/rand/v2"
	"testing"
)

const gib = 1 << 30

func minuteAhead(t *testing.T, name string, y []float64) float64 {
	t.Helper()
	for _, m := range All(60, 1) {
		if m.Name != name {
			continue
		}
		for _, v := range y {
			m.Observe(v)
		}
		return m.Ahead()
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
		"naive": last, "SES": last, "Holt": last + 60*gib/100., "weighted experts": last + 60*gib/100., "Holt–Winters": last + 60*gib/100.,
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

func TestSeasonalMethodsRepeatSawtooth(t *testing.T) {
	saw := func(i int) float64 { return 20*gib + 4*gib*float64(i%47)/47 + float64(i)*gib/1000 }
	for n := 900; n < 950; n += 9 {
		want := saw(n - 1 + 60)
		for name, off := range map[string]float64{"weighted experts": 0.4 * gib, "Holt–Winters": gib} {
			if got := minuteAhead(t, name, made(n, saw)); math.Abs(got-want) > off {
				t.Errorf("%s after %d samples: %.2f GiB, want %.2f", name, n, got/gib, want/gib)
			}
		}
	}
	if p := period(made(600, func(i int) float64 { return math.Sin(float64(i * i)) })); p != 0 {
		t.Errorf("noise has a period of %d", p)
	}
}
