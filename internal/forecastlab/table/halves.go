package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// halves are the figures on second halves: every method has seen the first
// ones, and the LSTM was trained on them. By method, then by regime.
type halves struct {
	methods   []string
	regimes   []string
	summaries [][]backtest.Summary
	recording []backtest.Summary // by method; nil where there is none
	nanos     float64            // of the forecaster, a sample
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
	BytesPerSeries int     `json:"bytes_per_series"`
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

func measureHalves(dir, recording string, seeds, first uint64, now func() time.Time) (*halves, error) {
	h := &halves{methods: append(append([]string{}, beside...), "LSTM"), summaries: make([][]backtest.Summary, len(beside)+1)}
	cost, err := os.ReadFile(filepath.Join(dir, "cost.json"))
	if err != nil {
		return nil, fmt.Errorf("read what the training cost: %w", err)
	}
	if err := json.Unmarshal(cost, &h.trained); err != nil {
		return nil, fmt.Errorf("read what the training cost: %w", err)
	}
	var spent time.Duration
	samples := 0
	for _, g := range regime.All() {
		path := filepath.Join(dir, fileName(g.Name)+".forecasts.csv")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue // a regime that came after the training
		}
		var series []*backtest.Series
		for seed := first; seed < first+seeds; seed++ {
			s := backtest.Evenly(seriesName(g.Name, seed), 1, int64(regime.Capacity), g.Make(regime.Seeded(seed)))
			series = append(series, s)
			if seed == first {
				spent += leastCost(s, now)
				samples += len(s.Samples)
			}
		}
		row, err := secondHalves(series, path)
		if err != nil {
			return nil, err
		}
		h.regimes = append(h.regimes, g.Name)
		for i := range row {
			h.summaries[i] = append(h.summaries[i], row[i])
		}
	}
	if samples == 0 {
		return nil, fmt.Errorf("%s has no forecasts of any regime", dir)
	}
	h.nanos = float64(spent.Nanoseconds()) / float64(samples)
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

// leastCost is what the forecaster needs for a series, on a machine that may be
// busy now and then.
func leastCost(s *backtest.Series, now func() time.Time) time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 5 {
		least = min(least, backtest.Cost(func() backtest.Method { return forecast.New() }, s, now))
	}
	return least
}

// secondHalves scores every method, the forecasts in the file last.
func secondHalves(series []*backtest.Series, path string) ([]backtest.Summary, error) {
	all, err := readForecasts(path)
	if err != nil {
		return nil, err
	}
	var makers []func(*backtest.Series) backtest.Method
	for _, name := range beside {
		for _, m := range methods() {
			if m.name == name {
				makers = append(makers, func(*backtest.Series) backtest.Method { return m.make() })
			}
		}
	}
	makers = append(makers, func(s *backtest.Series) backtest.Method { return all.of(s) })
	var row []backtest.Summary
	for i, make := range makers {
		var scores []*backtest.Score
		for _, s := range series {
			score, err := backtest.Replay(&secondHalf{Method: make(s), series: s}, s, nil)
			if err != nil {
				return nil, fmt.Errorf("second half of %s: %w", s.ID, err)
			}
			scores = append(scores, score)
		}
		row = append(row, backtest.Summarise(scores...))
		for k := range forecast.Horizons {
			if got, want := row[i].Horizons[k].Forecasts, row[0].Horizons[k].Forecasts; got != want {
				return nil, fmt.Errorf("%s: %d forecasts of %s, the others have %d", path, got, forecast.Horizons[k], want)
			}
		}
	}
	return row, nil
}

// tables are the section of the document.
func (h *halves) tables() string {
	var b strings.Builder
	own, other := 0, len(h.methods)-1
	b.WriteString(head("all regimes", horizonNames()...))
	for j, name := range h.methods {
		var cells []string
		for k := range forecast.Horizons {
			cells = append(cells, share(h.overall(j, k)))
		}
		b.WriteString(row(name, cells))
	}
	for _, k := range []int{2, 4, 6} {
		b.WriteByte('\n')
		b.WriteString(head("at "+horizonName(forecast.Horizons[k].Seconds()), h.methods...))
		for i, name := range h.regimes {
			b.WriteString(row(name, best(h.summaries, i, k)))
		}
	}
	b.WriteByte('\n')
	b.WriteString(head("vramscope / LSTM", "within 80 %, 1 min", "15 min", "within 95 %, 1 min", "15 min",
		"Winkler 80 %, GiB, 1 min", "15 min", "precision", "recall", "wrong alarms an hour"))
	for i, name := range h.regimes {
		a, o := &h.summaries[own][i], &h.summaries[other][i]
		cells := intervalCells(a, o, 2, 6)
		if a.Alarms.Fills > 0 {
			cells = append(cells, pair(share, a.Alarms.Precision, o.Alarms.Precision), pair(share, a.Alarms.Recall, o.Alarms.Recall))
		} else {
			cells = append(cells, "", "")
		}
		b.WriteString(row(name, append(cells, pair(share, a.Alarms.WrongPerHour, o.Alarms.WrongPerHour))))
	}
	if h.recording != nil {
		b.WriteByte('\n')
		b.WriteString(h.recordingTable())
	}
	b.WriteByte('\n')
	b.WriteString(h.cost())
	return b.String()
}

// overall is the geometric mean over the regimes.
func (h *halves) overall(method, k int) backtest.Figure {
	logs, n := 0.0, 0
	for i := range h.regimes {
		if v := h.summaries[method][i].Horizons[k].Relative; v.Known() {
			logs += math.Log(float64(v))
			n++
		}
	}
	return backtest.Figure(math.Exp(logs / float64(n)))
}

// best is every method's relative error, the least one in bold.
func best(summaries [][]backtest.Summary, i, k int) []string {
	least := summaries[0][i].Horizons[k].Relative
	for j := range summaries {
		least = min(least, summaries[j][i].Horizons[k].Relative)
	}
	var cells []string
	for j := range summaries {
		cell := share(summaries[j][i].Horizons[k].Relative)
		if cell == share(least) {
			cell = "**" + cell + "**"
		}
		cells = append(cells, cell)
	}
	return cells
}

// intervalCells are how often the intervals held and their Winkler scores, at
// two horizons.
func intervalCells(a, o *backtest.Summary, ks ...int) []string {
	var cells []string
	for _, k := range ks {
		cells = append(cells, pair(percentage, a.Horizons[k].In80.Coverage, o.Horizons[k].In80.Coverage))
	}
	for _, k := range ks {
		cells = append(cells, pair(percentage, a.Horizons[k].In95.Coverage, o.Horizons[k].In95.Coverage))
	}
	for _, k := range ks {
		cells = append(cells, pair(gibibytes, a.Horizons[k].In80.Winkler, o.Horizons[k].In80.Winkler))
	}
	return cells
}

func pair(write func(backtest.Figure) string, a, o backtest.Figure) string {
	return write(a) + " / " + write(o)
}

func gibibytes(f backtest.Figure) string { return share(f / backtest.Figure(regime.GiB)) }

func (h *halves) recordingTable() string {
	var b strings.Builder
	b.WriteString(head("the recording", append(append([]string{}, h.methods...), "within 80 %", "within 95 %", "Winkler 80 %, GiB")...))
	a, o := &h.recording[0], &h.recording[len(h.recording)-1]
	for k := range forecast.Horizons {
		if a.Horizons[k].Forecasts == 0 {
			continue
		}
		var cells []string
		for j := range h.recording {
			cells = append(cells, fmt.Sprintf("%.3f", h.recording[j].Horizons[k].Relative))
		}
		b.WriteString(row(horizonName(forecast.Horizons[k].Seconds()), append(cells, intervalCells(a, o, k)...)))
	}
	b.WriteByte('\n')
	b.WriteString(head("the recording, all errors summed", h.methods...))
	for k := range forecast.Horizons {
		if a.Horizons[k].Forecasts == 0 {
			continue
		}
		var cells []string
		for j := range h.recording {
			cells = append(cells, fmt.Sprintf("%.3f", h.recording[j].Horizons[k].MAE/h.recording[j].Horizons[k].NaiveMAE))
		}
		b.WriteString(row(horizonName(forecast.Horizons[k].Seconds()), cells))
	}
	return b.String()
}

func (h *halves) cost() string {
	t := &h.trained
	var b strings.Builder
	b.WriteString(head("cost", "vramscope", "LSTM"))
	b.WriteString(row("µs a sample, one series", []string{fmt.Sprintf("%.1f", h.nanos/1e3), fmt.Sprintf("%.1f", t.Alone)}))
	b.WriteString(row("µs a sample, 64 series at once", []string{fmt.Sprintf("%.1f", h.nanos/1e3), fmt.Sprintf("%.1f", t.In64)}))
	b.WriteString(row("training, seconds of a core", []string{"none", fmt.Sprintf("%.0f + %.0f (%d + %d epochs)", t.Traces.Seconds, t.Recording.Seconds, t.Traces.Epochs, t.Recording.Epochs)}))
	b.WriteString(row("parameters", []string{"none", fmt.Sprintf("%d: %d KiB", t.Parameters, t.ParameterBytes>>10)}))
	fmt.Fprintf(&b, "\nPython %s, PyTorch %s, one thread; %d layer of %d units.\n", t.Python, t.Torch, t.Layers, t.Units)
	return b.String()
}
