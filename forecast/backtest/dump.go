package backtest

import (
	"bufio"
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
	row                    []string
}

// table is one CSV file.
type table struct {
	file *os.File
	csv  *csv.Writer
}

func (t *table) write(row ...string) error {
	if err := t.csv.Write(row); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

// NewDump makes the directory where it is missing, and replaces the files.
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
		*t.table = table{file: file, csv: csv.NewWriter(bufio.NewWriterSize(file, 1<<16))} // csv takes a large buffer as its own
		if err := t.table.write(t.titles...); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// Begin starts a series. The result is the listener for Replay.
func (d *Dump) Begin(s *Series) func(*Sample, *Answer) error {
	d.state = ""
	return func(sample *Sample, answer *Answer) error { return d.write(s.ID, sample, answer) }
}

func (d *Dump) write(id string, sample *Sample, answer *Answer) error {
	t := decimal(sample.Seconds)
	for _, in := range answer.Forecasts {
		d.row = append(d.row[:0], id, t, decimal(in.Horizon.Seconds()))
		for _, v := range [...]int64{in.Median, in.Lower80, in.Upper80, in.Lower95, in.Upper95} {
			d.row = append(d.row, strconv.FormatInt(v, 10))
		}
		if err := d.forecasts.write(d.row...); err != nil {
			return err
		}
	}
	if answer.Fills {
		latest := ""
		if answer.Full.Latest > 0 {
			latest = decimal(answer.Full.Latest.Seconds())
		}
		if err := d.full.write(id, t, decimal(answer.Full.Median.Seconds()), decimal(answer.Full.Earliest.Seconds()), latest); err != nil {
			return err
		}
	}
	state := stateOf(answer.Trend)
	if state == "" || state == d.state {
		return nil
	}
	d.state = state
	return d.leaks.write(id, t, state)
}

// stateOf is the state as in leaks.csv, "" for too few samples.
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
		if t.file == nil {
			continue
		}
		t.csv.Flush()
		failed = cmp.Or(failed, t.csv.Error(), t.file.Close())
		t.file = nil
	}
	if failed != nil {
		return fmt.Errorf("dump: %w", failed)
	}
	return nil
}
