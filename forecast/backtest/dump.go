package backtest

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"vramscope/forecast"
)

// Dump writes all answers of a replay into three files of a directory.
type Dump struct {
	forecasts, full, leaks table
	state                  string
}

// table is one CSV file. Dump.Close reports its errors.
type table struct {
	file *os.File
	*csv.Writer
}

func (t *table) write(row ...string) { _ = t.Write(row) }

// NewDump makes the directory if it is missing, and replaces the files.
func NewDump(dir string) (*Dump, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the directory of the dump: %w", err)
	}
	d := &Dump{}
	for _, t := range []struct {
		table  *table
		name   string
		titles []string
	}{
		{&d.forecasts, "forecasts.csv", []string{"series_id", "t_seconds", "horizon_seconds", "median", "lower80", "upper80", "lower95", "upper95"}},
		{&d.full, "full.csv", []string{"series_id", "t_seconds", "median_seconds", "earliest_seconds", "latest_seconds"}},
		{&d.leaks, "leaks.csv", []string{"series_id", "t_seconds", "state"}},
	} {
		file, err := os.Create(filepath.Join(dir, t.name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("dump: %w", err), d.Close())
		}
		*t.table = table{file, csv.NewWriter(file)}
		t.table.write(t.titles...)
	}
	return d, nil
}

// Begin starts a series. The result is the listener for Replay.
func (d *Dump) Begin(s *Series) func(*Sample, *Answer) {
	d.state = ""
	return func(sample *Sample, answer *Answer) { d.write(s.ID, sample, answer) }
}

func (d *Dump) write(id string, sample *Sample, answer *Answer) {
	t := decimal(sample.Seconds)
	for _, in := range answer.Forecasts {
		row := []string{id, t, decimal(in.Horizon.Seconds())}
		for _, v := range [...]int64{in.Median, in.Lower80, in.Upper80, in.Lower95, in.Upper95} {
			row = append(row, strconv.FormatInt(v, 10))
		}
		d.forecasts.write(row...)
	}
	if answer.Fills {
		latest := ""
		if answer.Full.Latest > 0 {
			latest = decimal(answer.Full.Latest.Seconds())
		}
		d.full.write(id, t, decimal(answer.Full.Median.Seconds()), decimal(answer.Full.Earliest.Seconds()), latest)
	}
	if state := stateOf(answer.Trend); state != "" && state != d.state {
		d.state = state
		d.leaks.write(id, t, state)
	}
}

// stateOf returns the state as in leaks.csv, "" for too few samples.
func stateOf(trend forecast.Trend) string {
	switch trend {
	case forecast.Young:
		return ""
	case forecast.Leak:
		return "leak"
	case forecast.Growing:
		return "growing"
	default:
		return "steady"
	}
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Close flushes and closes the files and returns the first error.
func (d *Dump) Close() error {
	var failed error
	for _, t := range []*table{&d.forecasts, &d.full, &d.leaks} {
		if t.file != nil {
			t.Flush()
			failed = cmp.Or(failed, t.Error(), t.file.Close())
		}
	}
	if failed != nil {
		return fmt.Errorf("dump: %w", failed)
	}
	return nil
}
