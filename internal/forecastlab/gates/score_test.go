package main

import (
	"testing"

	"vramscope/internal/forecastlab/regime"
)

func slowFill(at, grew float64) fill { return fill{at, regime.Refusal{Kind: "leak", Grew: grew}} }

func TestAlertIsRightWithinItsWindow(t *testing.T) {
	for _, tc := range []struct {
		name           string
		median, latest float64
		filled         float64 // seconds after the alert; 0: never
		lasts          float64 // how long the scene lasts after the alert
		want           verdict
	}{
		{"as announced", 100, 120, 100, 1000, right},
		{"twice as late", 100, 120, 200, 1000, right},
		{"later than twice", 100, 120, 201, 1000, wrong},
		{"one and a half times the latest", 100, 400, 600, 1000, right},
		{"later than that", 100, 400, 601, 1000, wrong},
		{"never", 100, 120, 0, 1000, wrong},
		{"not yet", 100, 120, 0, 150, open},
		{"before", 100, 120, -5, 1000, wrong},
	} {
		w := watched{seconds: 50 + tc.lasts, alerts: []alert{{at: 50, until: 60, median: tc.median, latest: tc.latest}}}
		if tc.filled != 0 {
			w.fills = []fill{{at: 50 + tc.filled}}
		}
		if got := w.judge(&w.alerts[0]); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestSlowFillIsCaughtByEarlyAlert(t *testing.T) {
	for _, tc := range []struct {
		name        string
		alerts      []alert
		grew        float64
		slow, catch float64
	}{
		{"two minutes before", []alert{{at: 880, until: 1000, median: 100}}, 900, 1, 1},
		{"less", []alert{{at: 881, until: 1000, median: 100}}, 900, 1, 0},
		{"half of a short ramp", []alert{{at: 960, until: 1000, median: 100}}, 80, 1, 1},
		{"too fast to count", []alert{{at: 990, until: 1000, median: 100}}, 59, 0, 0},
		{"that announced another time and went", []alert{{at: 500, until: 600, median: 100}}, 900, 1, 0},
		{"that announced another time and stands", []alert{{at: 500, until: 1000, median: 100}}, 900, 1, 1},
		{"of the fill before", []alert{{at: 150, until: 200, median: 900}}, 700, 1, 0},
		{"in its growth, cleared by another's refusal", []alert{{at: 400, until: 500, median: 400}}, 900, 1, 1},
		{"that outlives the fill before", []alert{{at: 150, until: 1000, median: 900}}, 700, 1, 1},
		{"none", nil, 900, 1, 0},
	} {
		w := watched{seconds: 5000, alerts: tc.alerts, fills: []fill{{at: 200}, slowFill(1000, tc.grew)}}
		got := w.days()[0]
		if got.slow != tc.slow || got.caught != tc.catch || got.fills != 2 {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

func TestDaysAreTalliedApart(t *testing.T) {
	w := watched{seconds: 1.5 * day, alerts: []alert{
		{at: 10, until: 20, median: 100}, {at: day + 10, until: day + 20, median: 100},
	}, fills: []fill{{at: 100}}}
	got := w.days()
	if len(got) != 2 || got[0] != (tally{days: 1, right: 1, fills: 1}) || got[1] != (tally{days: 0.5, wrong: 1}) {
		t.Errorf("%+v", got)
	}
	all, low, high := bootstrap(got, func(t *tally) float64 { return t.wrong / t.days })
	if all != 1/1.5 || low != 0 || high != 2 {
		t.Errorf("%v (%v–%v), want 0.67 (0–2)", all, low, high)
	}
}

func TestShareHasWilsonsInterval(t *testing.T) {
	if got := share(9, 10); got != "90 % (60–98)" {
		t.Error(got)
	}
	if got := share(0, 0); got != "–" {
		t.Error(got)
	}
}

// The monitor raises an alert for a leak after a level, and none for a level.
func TestMonitorSeesScene(t *testing.T) {
	level := make([]float64, 2000)
	for i := range level {
		level[i] = min(40*regime.GiB+max(float64(i)-600, 0)*50*regime.MiB, regime.Capacity)
	}
	if w := watch(alone(level[:600]), 1); len(w.alerts)+len(w.fills) > 0 || w.seconds != 600 {
		t.Errorf("a level: %+v", w)
	}
	w := watch(alone(level[:1421]), 1)
	if len(w.fills) != 1 || w.fills[0].at != 1420 || w.lead(0) < 500 || w.judge(&w.alerts[0]) != right {
		t.Errorf("a leak: alerts %+v, fills %+v", w.alerts, w.fills)
	}
}
