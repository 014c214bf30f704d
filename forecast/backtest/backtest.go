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

// Alarmer is a Method that raises alarms by its own rules, as the monitor does.
type Alarmer interface {
	Method
	Alarm() bool           // whether an alarm stands
	Within() time.Duration // the time to full below which an alarm is raised
}

// Answer holds a method's forecasts after a sample.
type Answer struct {
	Forecasts []forecast.Interval // at all Horizons, or none
	Full      forecast.FullIn     // valid if Fills is true; only with a known total
	Fills     bool
	Trend     forecast.Trend
	Alarm     bool // an alarm stands; only for an Alarmer
}

// Replay passes the samples of a series to a method and scores its answers. It also passes each
// answer to listen, which may be nil.
func Replay(m Method, s *Series, listen func(*Sample, *Answer)) *Score {
	score := &Score{ID: s.ID, Samples: len(s.Samples)}
	if n := len(s.Samples); n > 0 {
		score.Seconds = s.Samples[n-1].Seconds - s.Samples[0].Seconds
	}
	var due [len(forecast.Horizons)]int // the sample that each horizon's forecast meets
	full := newFilling(s, m)
	room := make([]forecast.Interval, 0, len(forecast.Horizons))
	for i := range s.Samples {
		sample := &s.Samples[i]
		answer := ask(m, s, i, room)
		for k, in := range answer.Forecasts {
			h := in.Horizon.Seconds()
			j := meets(s, i, due[k], h)
			due[k] = j
			if j < len(s.Samples) && s.Samples[j].Seconds-sample.Seconds-h <= h/2+1+timeRounding { // a later sample says too little
				score.At[k].add(in, sample.Used, s.Samples[j].Used)
			}
		}
		full.observe(i, &answer)
		score.Leak.observe(sample, answer.Trend)
		if listen != nil {
			listen(sample, &answer)
		}
	}
	score.Filling = full.score()
	return score
}

// start returns the time of the first sample of every series.
func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// ask passes a method its next sample and asks for all forecasts.
func ask(m Method, s *Series, i int, room []forecast.Interval) Answer {
	sample := &s.Samples[i]
	elapsed := math.Round((sample.Seconds - s.Samples[0].Seconds) * 1e9)
	m.Observe(start().Add(time.Duration(elapsed)), sample.Used)
	answer := Answer{Forecasts: m.Forecasts(room[:0]), Trend: m.Trend()}
	if sample.Total > 0 {
		answer.Full, answer.Fills = m.FullIn(sample.Total - sample.Used)
	}
	if a, ok := m.(Alarmer); ok {
		answer.Alarm = a.Alarm()
	}
	return answer
}

// timeRounding is the rounding error of a time read as a decimal fraction, in seconds.
const timeRounding = 1e-6

// meets finds the first sample from j on that lies at or after a horizon from sample i.
func meets(s *Series, i, j int, h float64) int {
	t := s.Samples[i].Seconds + h - timeRounding
	for j < len(s.Samples) && s.Samples[j].Seconds < t {
		j++
	}
	return j
}

// Cost measures how long a method takes for a series, without scoring: the shortest of three
// replays, because other programs can only make a replay longer.
func Cost(begin func() Method, s *Series, now func() time.Time) time.Duration {
	room := make([]forecast.Interval, 0, len(forecast.Horizons))
	shortest := time.Duration(math.MaxInt64)
	for range 3 {
		m := begin()
		began := now()
		for i := range s.Samples {
			ask(m, s, i, room)
		}
		shortest = min(shortest, now().Sub(began))
	}
	return shortest
}
