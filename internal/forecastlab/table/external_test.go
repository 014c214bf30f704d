package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

// rising is a series whose second half another program forecasts exactly.
func rising() (*backtest.Series, string) {
	const n, total = 1200, 1300 << 20
	var used []float64
	for t := range n {
		used = append(used, float64(t<<20))
	}
	var b strings.Builder
	b.WriteString("series_id,t_seconds,horizon_seconds,median,lower80,upper80,lower95,upper95\n")
	for t := n / 2; t < n; t++ {
		for _, h := range forecast.Horizons {
			v := (t + int(h.Seconds())) << 20
			fmt.Fprintf(&b, "leak,%d,%.0f,%d,%d,%d,%d,%d\n", t, h.Seconds(), v, v-1, v+1, v-2, v+2)
		}
	}
	return backtest.Evenly("leak", 1, total, used), b.String()
}

func TestExternalForecastsAreScoredOnSecondHalf(t *testing.T) {
	s, text := rising()
	all, err := parseForecasts(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]backtest.Method{"external": all.of(s), "ours": forecast.New()} {
		score, err := backtest.Replay(afterHalf(m, s), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := score.At[2].Scored, 1200-600-60; got != want {
			t.Errorf("%s: %d forecasts of a minute are scored, not %d", name, got, want)
		}
		if name == "external" && (score.At[2].Loss != 0 || score.At[2].In95.Within != score.At[2].Scored) {
			t.Errorf("exact forecasts are scored with %v", score.At[2])
		}
	}
}

func TestExternalFullInInterpolates(t *testing.T) {
	s, text := rising()
	all, err := parseForecasts(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m := all.of(s)
	for i := range s.Samples[:1001] {
		m.Observe(time.Time{}, s.Samples[i].Used)
	}
	full, fills := m.FullIn(200 << 20)
	if !fills || full.Median.Round(time.Second) != 200*time.Second || full.Earliest > full.Median || full.Latest < full.Median {
		t.Errorf("full in %v, %v", full, fills)
	}
	if _, fills = m.FullIn(1 << 40); fills {
		t.Error("a capacity that is never reached is reached")
	}
}

func TestInvalidForecastFilesAreRefused(t *testing.T) {
	const titles = "series_id,t_seconds,horizon_seconds,median,lower80,upper80,lower95,upper95\n"
	for text, word := range map[string]string{
		"":                            "titles",
		titles + "a,0,30,1,1,1,1,1\n": "line 2: horizon 30 is not the next one",
		titles + "a,0,10,1,1,1,1\n":   "wrong number of fields",
		titles + "a,x,10,1,1,1,1,1\n": "t_seconds",
		titles + "a,0,10,1,1,1,1,.\n": "bytes",
	} {
		if _, err := parseForecasts(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
