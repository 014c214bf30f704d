package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/baseline"
)

// forecastTitles are the columns of forecasts.csv, as backtest.Dump writes it.
const forecastTitles = 8

// external is what another program forecast: by series, then by t_seconds.
type external map[string]map[float64][]forecast.Interval

// readForecasts reads a file like forecasts.csv, with all horizons at each t_seconds.
func readForecasts(path string) (external, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open forecasts: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	all, err := parseForecasts(file)
	if err != nil {
		return nil, fmt.Errorf("forecasts of %s: %w", path, err)
	}
	return all, nil
}

func parseForecasts(r io.Reader) (external, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = forecastTitles
	rows.ReuseRecord = true
	if _, err := rows.Read(); err != nil {
		return nil, fmt.Errorf("read the titles: %w", err)
	}
	all := external{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if err := all.add(row); err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (all external) add(row []string) error {
	seconds, err := strconv.ParseFloat(row[1], 64)
	if err != nil {
		return fmt.Errorf("t_seconds: %w", err)
	}
	horizon, err := strconv.ParseFloat(row[2], 64)
	if err != nil {
		return fmt.Errorf("horizon_seconds: %w", err)
	}
	var v [5]int64
	for i := range v {
		if v[i], err = strconv.ParseInt(row[3+i], 10, 64); err != nil {
			return fmt.Errorf("bytes: %w", err)
		}
	}
	series := all[row[0]]
	if series == nil {
		series = map[float64][]forecast.Interval{}
		all[row[0]] = series
	}
	earlier := series[seconds]
	if len(earlier) == len(forecast.Horizons) || forecast.Horizons[len(earlier)].Seconds() != horizon {
		return fmt.Errorf("horizon %s is not the next one", row[2])
	}
	series[seconds] = append(earlier, forecast.Interval{
		Horizon: forecast.Horizons[len(earlier)], Median: v[0], Lower80: v[1], Upper80: v[2], Lower95: v[3], Upper95: v[4],
	})
	return nil
}

// replayed is a method that says what was external of a series.
type replayed struct {
	series    *backtest.Series
	forecasts map[float64][]forecast.Interval
	next      int
	used      int64
	now       []forecast.Interval
}

func (all external) of(s *backtest.Series) *replayed {
	return &replayed{series: s, forecasts: all[s.ID]}
}

// Observe takes the series' next sample.
func (s *replayed) Observe(_ time.Time, used int64) {
	s.used, s.now = used, s.forecasts[s.series.Samples[s.next].Seconds]
	s.next++
}

// Forecasts appends the forecasts at the newest sample.
func (s *replayed) Forecasts(dst []forecast.Interval) []forecast.Interval {
	return append(dst, s.now...)
}

// FullIn is where median and 80 % interval first reach the capacity.
func (s *replayed) FullIn(free int64) (forecast.FullIn, bool) {
	if len(s.now) < len(forecast.Horizons) {
		return forecast.FullIn{}, false
	}
	reaches := func(of func(*forecast.Interval) int64) (time.Duration, bool) {
		return baseline.Reaches(free, func(i int) float64 { return float64(of(&s.now[i]) - s.used) })
	}
	median, fills := reaches(func(in *forecast.Interval) int64 { return in.Median })
	if !fills {
		return forecast.FullIn{}, false
	}
	earliest, _ := reaches(func(in *forecast.Interval) int64 { return in.Upper80 })
	latest, _ := reaches(func(in *forecast.Interval) int64 { return in.Lower80 })
	return forecast.FullIn{Median: median, Earliest: earliest, Latest: latest}, true
}

// Trend is none: forecasts.csv has no leaks.
func (s *replayed) Trend() forecast.Trend { return forecast.Steady }

// limited is a method that answers only at some samples.
type limited struct {
	backtest.Method
	series *backtest.Series
	at     func(seconds float64) bool
	seen   int
}

// afterHalf limits a method to the second half of a series.
func afterHalf(m backtest.Method, s *backtest.Series) *limited {
	middle := (s.Samples[0].Seconds + s.Samples[len(s.Samples)-1].Seconds) / 2
	return &limited{Method: m, series: s, at: func(seconds float64) bool { return seconds >= middle }}
}

func (l *limited) Observe(t time.Time, used int64) {
	l.Method.Observe(t, used)
	l.seen++
}

func (l *limited) answers() bool { return l.at(l.series.Samples[l.seen-1].Seconds) }

func (l *limited) Forecasts(dst []forecast.Interval) []forecast.Interval {
	if !l.answers() {
		return dst
	}
	return l.Method.Forecasts(dst)
}

func (l *limited) FullIn(free int64) (forecast.FullIn, bool) {
	if !l.answers() {
		return forecast.FullIn{}, false
	}
	return l.Method.FullIn(free)
}
