package main

import (
	"math"
	"strings"
	"testing"

	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// The score of an interval that contains the truth is the interval's width times its weight. An
// interval that misses the truth also pays for the distance.
func TestCRPS(t *testing.T) {
	q := quantiles{0, 10, 50, 90, 100}
	for y, want := range map[float64]float64{
		50:  (0 + 2.5 + 8) / 2.5,
		95:  (22.5 + 2.5 + 8 + 5) / 2.5,
		120: (35 + 2.5 + 20 + 8 + 30) / 2.5,
	} {
		if got := q.crps(y); math.Abs(got-want) > 1e-9 {
			t.Errorf("of %v it is %v, want %v", y, got, want)
		}
	}
	if (quantiles{7, 7, 7, 7, 7}).crps(9) != 2 {
		t.Error("of a point it is not the absolute error")
	}
}

// The naive method's conformal interval contains four of five changes of a random walk.
func TestConformalIntervalHoldsItsShare(t *testing.T) {
	const ahead = 10
	r, c := regime.Seeded(1), &conformal{ahead: ahead}
	y := make([]float64, 5000)
	for i := 1; i < len(y); i++ {
		y[i] = y[i-1] + r.NormFloat64()
	}
	var held mean
	for i := range y[:len(y)-ahead] {
		c.observe(1000 + y[i])
		if q := c.forecast(); i > 100 {
			held.add(one(q[1] <= 1000+y[i+ahead] && 1000+y[i+ahead] <= q[3]))
		}
	}
	if v := held.value(); v < 0.76 || v > 0.84 {
		t.Errorf("%.3f lie within 80 %%", v)
	}
}

func TestNothingIsScoredFromFullOn(t *testing.T) {
	level := make([]float64, 500)
	for i := range level {
		level[i] = 40 * regime.GiB
	}
	level[400] = regime.Capacity
	f := fit(level, 1)
	// From the 20th sample to the 340th.
	if got := f.score.At[2].Scored; got != 339-19+1 || f.minute[0].n != float64(got) {
		t.Errorf("%v forecasts a minute ahead are scored, and by CRPS %v", got, f.minute[0].n)
	}
}

// A time to full that is announced exactly scores 0. A missing announcement scores as an error of
// 100 %. A time to full that is longer than the past is not scored.
func TestTimeToFullIsScored(t *testing.T) {
	leak := make([]float64, 1000)
	for i := range leak {
		leak[i] = 40*regime.GiB + float64(i)*40*regime.GiB/999
	}
	leak[999] = regime.Capacity
	f := fit(leak, 1)
	if f.full.n != 999-60-500+1 || f.full.value() > 0.01 {
		t.Errorf("%+v", f.full)
	}
	if f.printed.n < 400 || f.printed.value() < 0.95 {
		t.Errorf("%+v", f.printed)
	}
	var none fitted
	none.addFull(&backtest.Answer{}, 100, 100)
	none.addFull(&backtest.Answer{}, 100, 99)
	none.addFull(&backtest.Answer{}, 59, 99)
	if none.full != (mean{0.5, 1}) || none.printed.n != 0 {
		t.Errorf("without an answer: %+v, %+v", none.full, none.printed)
	}
}

// The condition of each trial accepts only the cases for which it is meant.
func TestTrialsTellCases(t *testing.T) {
	ramp := func(at float64) *watched {
		return &watched{seconds: 1000, alerts: []alert{{at: at, until: 400, median: 200}}, fills: []fill{{at: 400}}}
	}
	for _, tc := range []struct {
		name  string
		holds bool
		want  bool
	}{
		{"in the first half of the ramp", ledByHalf(ramp(300), 200), true},
		{"in its second", ledByHalf(ramp(301), 200), false},
		{"before it", ledByHalf(ramp(199), 200), false},
		{"called in time", calledInTime(&watched{leak: 1500}, 600), true},
		{"called late", calledInTime(&watched{leak: 1501}, 600), false},
		{"called before the start", calledInTime(&watched{leak: 599}, 600), false},
		{"never called", calledInTime(&watched{}, 600), false},
		{"alarmed", alarmed(ramp(1), 0), true},
		{"calm", alarmed(&watched{}, 0), false},
		{"called a leak", calledLeak(&watched{leak: 1}, 0), true},
	} {
		if tc.holds != tc.want {
			t.Errorf("%s: %t", tc.name, tc.holds)
		}
	}
}

// A trial counts the series in which its condition holds, and its row says whether they are few or
// many enough.
func TestTrialCountsSeries(t *testing.T) {
	for _, tr := range trials() {
		if tr.what == "sines of a day called leaks" {
			tr.n = 1
			r := tr.measure(&options{first: 1})
			if r.gate != 11 || r.figure != "0 % (0–79)" || !r.met || r.of != "1 series" {
				t.Errorf("%+v", r)
			}
			tr.least = 0.9
			if r := tr.measure(&options{first: 1}); r.met {
				t.Errorf("%+v", r)
			}
		}
	}
}

func TestGatesHaveNames(t *testing.T) {
	names := ""
	for _, g := range gates() {
		names += " " + g.names
	}
	for _, want := range []string{" 1 2 3 4 5 6 ", " 7 ", " 8 ", " 9 ", " 10 ", " 11 "} {
		if !strings.Contains(names, want) {
			t.Errorf("no%sin%s", want, names)
		}
	}
}
