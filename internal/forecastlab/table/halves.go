package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// halves are the figures on second halves. The LSTM was trained on the first ones.
type halves struct {
	measured
	recording []backtest.Summary // by method; nil where there is none
	trained   training
}

// training is cost.json, which scripts/lstm/train.py writes.
type training struct {
	Python         string  `json:"python"`
	Torch          string  `json:"torch"`
	Parameters     int     `json:"parameters"`
	ParameterBytes int     `json:"parameter_bytes"`
	Layers         int     `json:"layers"`
	Units          int     `json:"units"`
	Alone          float64 `json:"microseconds_alone"`
	In64           float64 `json:"microseconds_in_64"`
	Traces         taken   `json:"traces"`
	Recording      taken   `json:"recording"`
}

type taken struct {
	Epochs  int     `json:"epochs"`
	Seconds float64 `json:"cpu_seconds"`
}

// beside are the methods that the LSTM is shown with.
var beside = []string{"vramscope", "naive", "SES", "Holt"}

func measureHalves(dir, recording string, s seeds) (*halves, error) {
	h := &halves{measured: measured{seeds: s, methods: slices.Concat(beside, []string{"LSTM"})}}
	paid, err := os.ReadFile(filepath.Join(dir, "cost.json"))
	if err == nil {
		err = json.Unmarshal(paid, &h.trained)
	}
	if err != nil {
		return nil, fmt.Errorf("read what the training cost: %w", err)
	}
	for _, g := range regime.All() {
		path := filepath.Join(dir, fileName(g.Name)+".forecasts.csv")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue // a regime that came after the training
		}
		summaries, err := secondHalves(made(&g, s), path)
		if err != nil {
			return nil, err
		}
		h.rows = append(h.rows, row{regime: g.Name, summaries: summaries})
	}
	if len(h.rows) == 0 {
		return nil, fmt.Errorf("%s has no forecasts of any regime", dir)
	}
	if recording != "" {
		trace, err := readRecording(recording)
		if err != nil {
			return nil, err
		}
		if h.recording, err = secondHalves(trace.Series, filepath.Join(dir, "recording.forecasts.csv")); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// secondHalves scores every method, the forecasts in the file last.
func secondHalves(series []*backtest.Series, path string) ([]backtest.Summary, error) {
	all, err := readForecasts(path)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(methods(), func(m method) bool { return !slices.Contains(beside, m.name) })
	list = append(list, method{"LSTM", func(s *backtest.Series) backtest.Method { return all.of(s) }})
	var row []backtest.Summary
	for _, m := range list {
		sum, err := scored(series, func(s *backtest.Series) backtest.Method { return afterHalf(m.make(s), s) })
		if err != nil {
			return nil, fmt.Errorf("second halves: %w", err)
		}
		row = append(row, sum)
		for k := range forecast.Horizons {
			if got, want := sum.Horizons[k].Forecasts, row[0].Horizons[k].Forecasts; got != want {
				return nil, fmt.Errorf("%s: %d forecasts of %s, the others have %d", path, got, forecast.Horizons[k], want)
			}
		}
	}
	return row, nil
}

// short is the section of the document.
func (h *halves) short() string {
	all := []string{h.overallTable()}
	if h.recording != nil {
		all = append(all, recordingErrors("the recording", h.methods, h.recording, relativeOf, none))
	}
	return strings.Join(append(all, h.cost()), "\n")
}

// tables are all tables.
func (h *halves) tables() string {
	all := []string{h.short()}
	for _, k := range []int{2, 4, 6} { // 1, 5 and 15 minutes
		all = append(all, h.relative(k))
	}
	titles := []string{"within 80 %, 1 min", "15 min", "within 95 %, 1 min", "15 min", "Winkler 80 %, GiB, 1 min", "15 min",
		"precision", "recall", "wrong alarms an hour"}
	all = append(all, grid("vramscope / LSTM", titles, h.names(), func(i int) []string {
		a, o := &h.rows[i].summaries[0], &h.rows[i].summaries[len(beside)]
		precision, recall := "", ""
		if a.Alarms.Fills > 0 {
			precision, recall = pair(share, a.Alarms.Precision, o.Alarms.Precision), pair(share, a.Alarms.Recall, o.Alarms.Recall)
		}
		return append(intervalCells(a, o, 2, 6), precision, recall, pair(share, a.Alarms.WrongPerHour, o.Alarms.WrongPerHour))
	}))
	if h.recording != nil {
		a, o := &h.recording[0], &h.recording[len(beside)]
		titles := slices.Concat(h.methods, []string{"within 80 %", "within 95 %", "Winkler 80 %, GiB"})
		summed := func(h *backtest.HorizonSummary) backtest.Figure { return h.MAE / h.NaiveMAE }
		all = append(all,
			recordingErrors("the recording", titles, h.recording, relativeOf, func(k int) []string { return intervalCells(a, o, k) }),
			recordingErrors("the recording, all errors summed", h.methods, h.recording, summed, none))
	}
	return strings.Join(all, "\n")
}

// none are the cells of a table that has no more.
func none(int) []string { return nil }

// intervalCells are coverages and Winkler scores of the intervals at some horizons.
func intervalCells(a, o *backtest.Summary, ks ...int) []string {
	var in80, in95, winkler []string
	for _, k := range ks {
		in80 = append(in80, pair(percentage, a.Horizons[k].In80.Coverage, o.Horizons[k].In80.Coverage))
		in95 = append(in95, pair(percentage, a.Horizons[k].In95.Coverage, o.Horizons[k].In95.Coverage))
		winkler = append(winkler, pair(gibibytes, a.Horizons[k].In80.Winkler, o.Horizons[k].In80.Winkler))
	}
	return slices.Concat(in80, in95, winkler)
}

func pair(write func(backtest.Figure) string, a, o backtest.Figure) string {
	return write(a) + " / " + write(o)
}

func gibibytes(f backtest.Figure) string { return share(f / backtest.Figure(regime.GiB)) }

func (h *halves) cost() string {
	t := &h.trained
	return fmt.Sprintf("The LSTM (%d layer of %d units, %d parameters, %d KiB; Python %s, PyTorch %s, one thread) took %.0f + %.0f s of a core to train "+
		"(%d + %d epochs), and takes %.1f µs a sample of one series, %.1f where 64 are asked at once.\n",
		t.Layers, t.Units, t.Parameters, t.ParameterBytes>>10, t.Python, t.Torch, t.Traces.Seconds, t.Recording.Seconds,
		t.Traces.Epochs, t.Recording.Epochs, t.Alone, t.In64)
}
