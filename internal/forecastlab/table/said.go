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
)

// forecastTitles are the columns of forecasts.csv, as backtest.Dump writes it.
const forecastTitles = 8

// heard is what another program forecast: by series, then by t_seconds.
type heard map[string]map[float64][]forecast.Interval

// readForecasts reads a file of the layout of forecasts.csv. At each t_seconds
// there must be all horizons, in order.
func readForecasts(path string) (heard, error) {
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

func parseForecasts(r io.Reader) (heard, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = forecastTitles
	rows.ReuseRecord = true
	if _, err := rows.Read(); err != nil {
		return nil, fmt.Errorf("read the titles: %w", err)
	}
	all := heard{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if err := all.take(row); err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
}

func (all heard) take(row []string) error {
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
	said := series[seconds]
	if len(said) == len(forecast.Horizons) || forecast.Horizons[len(said)].Seconds() != horizon {
		return fmt.Errorf("horizon %s is not the next one", row[2])
	}
	series[seconds] = append(said, forecast.Interval{
		Horizon: forecast.Horizons[len(said)], Median: v[0], Lower80: v[1], Upper80: v[2], Lower95: v[3], Upper95: v[4],
	})
	return nil
}

// saying is a method that says what was heard of a series.
type saying struct {
	series *backtest.Series
	said   map[float64][]forecast.Interval
	next   int
	used   int64
	now    []forecast.Interval
}

func (all heard) of(s *backtest.Series) *saying { return &saying{series: s, said: all[s.ID]} }

// Observe takes the series' next sample.
func (s *saying) Observe(_ time.Time, used int64) {
	s.used, s.now = used, s.said[s.series.Samples[s.next].Seconds]
	s.next++
}

// Forecasts appends what was said at the newest sample.
func (s *saying) Forecasts(dst []forecast.Interval) []forecast.Interval { return append(dst, s.now...) }

// FullIn is where the path of the medians, straight between the horizons,
// first reaches the capacity. The bounds are those of the 80 % interval.
func (s *saying) FullIn(free int64) (forecast.FullIn, bool) {
	median, fills := s.reaches(free, func(in *forecast.Interval) int64 { return in.Median })
	if !fills {
		return forecast.FullIn{}, false
	}
	earliest, _ := s.reaches(free, func(in *forecast.Interval) int64 { return in.Upper80 })
	latest, _ := s.reaches(free, func(in *forecast.Interval) int64 { return in.Lower80 })
	return forecast.FullIn{Median: median, Earliest: earliest, Latest: latest}, true
}

func (s *saying) reaches(free int64, of func(*forecast.Interval) int64) (time.Duration, bool) {
	begin, below := 0.0, 0.0
	for i := range s.now {
		end, above := s.now[i].Horizon.Seconds(), float64(of(&s.now[i])-s.used)
		if above > 0 && above >= float64(free) {
			return time.Duration(max(begin+(float64(free)-below)/(above-below)*(end-begin), 0) * 1e9), true
		}
		begin, below = end, above
	}
	return 0, false
}

// Trend is none: forecasts.csv tells no leaks.
func (s *saying) Trend() forecast.Trend { return forecast.Steady }

// late is a method that says nothing of a series' first half in time, though
// it sees it.
type late struct {
	backtest.Method
	series *backtest.Series
	seen   int
}

func (l *late) Observe(t time.Time, used int64) {
	l.Method.Observe(t, used)
	l.seen++
}

func (l *late) speaks() bool {
	all := l.series.Samples
	return all[l.seen-1].Seconds >= (all[0].Seconds+all[len(all)-1].Seconds)/2
}

func (l *late) Forecasts(dst []forecast.Interval) []forecast.Interval {
	if !l.speaks() {
		return dst
	}
	return l.Method.Forecasts(dst)
}

func (l *late) FullIn(free int64) (forecast.FullIn, bool) {
	if !l.speaks() {
		return forecast.FullIn{}, false
	}
	return l.Method.FullIn(free)
}
