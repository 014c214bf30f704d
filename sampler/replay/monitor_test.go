package replay

import (
	"testing"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
)

const gib = 1 << 30

// everySecond returns a series with a sample of used bytes per second, of a GPU of 80 GiB.
func everySecond(used []float64) *backtest.Series {
	s := &backtest.Series{ID: "a"}
	for i, v := range used {
		s.Samples = append(s.Samples, backtest.Sample{Seconds: float64(i), Used: int64(v), Total: 80 * gib})
	}
	return s
}

// leaking returns 40 GiB that grow by 32 MiB a second until the GPU is full.
func leaking() *backtest.Series {
	used := make([]float64, 1400)
	for i := range used {
		used[i] = min(40*gib+float64(i)*gib/32, 80*gib)
	}
	return everySecond(used)
}

// The monitor forecasts an old process as the bare forecaster does, and raises its own alarm.
func TestMonitorForecastsAndRaisesAlarm(t *testing.T) {
	series := leaking()
	m, f := New(series), forecast.New()
	raised := -1
	backtest.Replay(m, series, func(s *backtest.Sample, answer *backtest.Answer) {
		f.Observe(m.machine.now, s.Used)
		want := f.Forecasts(nil)
		if s.Used == s.Total {
			return // the forecaster gets still memory less often
		}
		if len(answer.Forecasts) != len(want) {
			t.Fatalf("at %v s %d forecasts, want %d", s.Seconds, len(answer.Forecasts), len(want))
		}
		for k, got := range answer.Forecasts {
			want[k].Upper80, want[k].Upper95 = min(want[k].Upper80, s.Total), min(want[k].Upper95, s.Total)
			if got != want[k] && want[k].Median < s.Total { // beyond the capacity only a time to full is believed
				t.Fatalf("at %v s: %+v, want %+v", s.Seconds, got, want[k])
			}
		}
		if answer.Alarm && raised < 0 {
			raised = int(s.Seconds)
		}
	})
	if left := 1280 - raised; raised < 0 || left < 600 || left > 1000 {
		t.Errorf("the alarm is raised at %d s, %d s before memory is full", raised, left)
	}
}

// A process whose start the monitor saw is young, and its load raises no alarm.
func TestMonitorSeesProcessStart(t *testing.T) {
	used := make([]float64, 300)
	for i := range used {
		used[i] = min(float64(i)*gib/2, 60*gib)
	}
	for _, age := range []float64{0, 1} {
		series := everySecond(used)
		series.Age = age
		score := backtest.Replay(New(series), series, nil)
		if age > 0 && len(score.Filling.Raised) > 0 {
			t.Errorf("a load is alarmed at %v s", score.Filling.Raised)
		}
	}
}

func TestMonitorWithoutTotalRaisesNoAlarm(t *testing.T) {
	series := leaking()
	for i := range series.Samples {
		series.Samples[i].Total = 0
	}
	score := backtest.Replay(New(series), series, nil)
	if score.Filling.Known || len(score.Filling.Raised) > 0 {
		t.Errorf("%+v", score.Filling)
	}
}
