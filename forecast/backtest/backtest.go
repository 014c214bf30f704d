// Package backtest is what forecasts are worth: it replays a trace through the
// forecaster that the monitor runs, sample by sample, and holds what was said
// against what came. Pure: it reads no clock but the one it is given.
//
//	CSV → Read → Series ─┬→ Replay → Score ┬→ Summarise → Summary
//	                     ├→ Cost ──────────┘
//	                     └→ Dump → forecasts.csv, full.csv, leaks.csv
//
// # Scoring
//
// A forecast for t + h is compared with the first sample at or after t + h,
// unless that is later than by h/2 + 1 s: then it is not scored at all, so that
// a trace sampled every 57 s is scored at the horizons it can carry. Errors
// have 1 MiB added in ratios, and intervals hold what lies within 1 MiB of
// them, so that nothing hangs on bytes. The relative error is the mean error
// over that of "it stays as it is"; over several series, the geometric mean of
// theirs. The interval score is Winkler's (1972): the width, and 2/α times what
// the truth lies outside.
//
// A series is full from the first sample whose used memory is within 1 MiB of
// its total. An alarm is raised when three samples in a row say that it will be
// full within 300 s, and taken down when five in a row do not. It is right if
// the series is full within 600 s, wrong if it is not, and counts for nothing
// if the trace ends before.
package backtest

import (
	"math"
	"time"

	"vramscope/forecast"
)

// Method makes forecasts. *forecast.Forecaster is one.
type Method interface {
	Observe(t time.Time, used int64)
	Forecasts(dst []forecast.Interval) []forecast.Interval
	FullIn(free int64) (forecast.FullIn, bool)
	Trend() forecast.Trend
}

// Said is what a method says after a sample.
type Said struct {
	Forecasts []forecast.Interval // at all Horizons, or none
	Full      forecast.FullIn     // where Fills; only for a known total
	Fills     bool
	Trend     forecast.Trend
}

// Replay gives a method the samples of a series and scores what it says.
// Listen, where it is not nil, hears it too, and its first error ends the
// replay.
func Replay(m Method, s *Series, listen func(*Sample, *Said) error) (*Score, error) {
	score := &Score{ID: s.ID, Samples: len(s.Samples)}
	if n := len(s.Samples); n > 0 {
		score.Seconds = s.Samples[n-1].Seconds - s.Samples[0].Seconds
	}
	var due [len(forecast.Horizons)]int // the sample that each horizon's forecast meets
	full := newFilling(s)
	room := make([]forecast.Interval, 0, len(forecast.Horizons))
	for i := range s.Samples {
		sample := &s.Samples[i]
		said := ask(m, s, i, room)
		for k, in := range said.Forecasts {
			j := meets(s, i, due[k], in.Horizon)
			due[k] = j
			if j < len(s.Samples) && inTime(s.Samples[j].Seconds-sample.Seconds, in.Horizon) {
				score.At[k].add(in, sample.Used, s.Samples[j].Used)
			}
		}
		full.hear(i, &said)
		score.Leak.hear(sample, said.Trend)
		if listen != nil {
			if err := listen(sample, &said); err != nil {
				return nil, err
			}
		}
	}
	score.Filling = full.score()
	return score, nil
}

// start is when the first sample of every series comes.
func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// ask gives a method its next sample and asks it everything.
func ask(m Method, s *Series, i int, room []forecast.Interval) Said {
	sample := &s.Samples[i]
	elapsed := math.Round((sample.Seconds - s.Samples[0].Seconds) * 1e9)
	m.Observe(start().Add(time.Duration(elapsed)), sample.Used)
	said := Said{Forecasts: m.Forecasts(room[:0]), Trend: m.Trend()}
	if sample.Total > 0 {
		said.Full, said.Fills = m.FullIn(sample.Total - sample.Used)
	}
	return said
}

// near is how far from its time, in seconds, a decimal fraction may come to
// lie by being read.
const near = 1e-6

// meets is the first sample at or after a horizon from sample i, looked for
// from j on.
func meets(s *Series, i, j int, h time.Duration) int {
	t := s.Samples[i].Seconds + h.Seconds() - near
	for j < len(s.Samples) && s.Samples[j].Seconds < t {
		j++
	}
	return j
}

// inTime reports whether a sample that came after so many seconds can be held
// against a forecast for h.
func inTime(seconds float64, h time.Duration) bool {
	return seconds-h.Seconds() <= h.Seconds()/2+1+near
}

// Cost is how long a method takes for a series: everything that the monitor
// asks of it, and nothing that scores it. Of three times the shortest counts,
// because whatever else runs on a machine only makes them longer.
func Cost(begin func() Method, s *Series, now func() time.Time) time.Duration {
	room := make([]forecast.Interval, 0, len(forecast.Horizons))
	least := time.Duration(math.MaxInt64)
	for range 3 {
		m := begin()
		began := now()
		for i := range s.Samples {
			ask(m, s, i, room)
		}
		least = min(least, now().Sub(began))
	}
	return least
}
