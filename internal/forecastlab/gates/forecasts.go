package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/baseline"
	"vramscope/internal/forecastlab/regime"
)

// tolerance is a difference, in bytes, that counts neither as an error nor as a miss.
const tolerance = 1 << 20

// Horizons, in seconds.
const minute, tenMinutes = 60, 600

// fitted is how a series was forecast. Forecasts count where memory is not full before
// they are due.
type fitted struct {
	absolute, still mean                   // errors 60 s ahead: ours and the naive method's
	minute          []mean                 // CRPS 60 s ahead: ours, then each simple method's
	ten             [2]mean                // CRPS 600 s ahead: ours and the naive method's
	within          map[time.Duration]mean // 80 % intervals
	full            mean                   // quantile score of the time to full
	printed         mean                   // whether the bounds hold as the screen rounds them
}

type mean struct{ sum, n float64 }

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m mean) value() float64 { return m.sum / m.n }

func (m mean) with(o mean) mean { return mean{m.sum + o.sum, m.n + o.n} }

// fit forecasts a series by all methods.
func fit(y []float64, step float64) *fitted {
	soon, late := int(minute/step), int(tenMinutes/step)
	others := []*conformal{{method: baseline.All(late, step)[0], ahead: late}}
	for _, m := range baseline.All(soon, step) {
		others = append(others, &conformal{method: m, ahead: soon})
	}
	out := &fitted{within: map[time.Duration]mean{}, minute: make([]mean, len(others))}
	ours, full := forecast.New(), nextFull(y)
	for i, v := range y {
		ours.Observe(time.Unix(0, int64(1e18+float64(i)*step*1e9)), int64(v))
		for _, o := range others {
			o.observe(v)
		}
		for _, in := range ours.Forecasts(nil) {
			if j := i + int(in.Horizon.Seconds()/step); j < full[i] {
				out.add(in, v, y[j], others)
			}
		}
		if left := float64(full[i]-i) * step; full[i] < len(y) && left > 0 {
			out.addFull(ours, v, left, float64(i)*step)
		}
	}
	return out
}

// add scores the forecasts at a horizon.
func (f *fitted) add(in forecast.Interval, was, came float64, others []*conformal) {
	q := quantiles{float64(in.Lower95), float64(in.Lower80), float64(in.Median), float64(in.Upper80), float64(in.Upper95)}
	held := f.within[in.Horizon]
	held.add(one(came >= q[1]-tolerance && came <= q[3]+tolerance))
	f.within[in.Horizon] = held
	switch in.Horizon {
	case minute * time.Second:
		f.absolute.add(math.Abs(came - q[2]))
		f.still.add(math.Abs(came - was))
		f.minute[0].add(q.crps(came))
		for k, o := range others[1:] {
			f.minute[1+k].add(o.forecast().crps(came))
		}
	case tenMinutes * time.Second:
		f.ten[0].add(q.crps(came))
		f.ten[1].add(others[0].forecast().crps(came))
	}
}

// addFull scores the time to full. No answer is an error of 100 %.
func (f *fitted) addFull(ours *forecast.Forecaster, used, left, past float64) {
	in, ok := ours.FullIn(int64(regime.Capacity - used))
	announced := [...]float64{in.Earliest.Seconds(), in.Median.Seconds(), in.Latest.Seconds()}
	if ok && announced[1] < 900 {
		f.printed.add(one(math.Floor(announced[0]/60)*60 <= left && left <= math.Ceil(announced[2]/60)*60))
	}
	if left < 60 || left > min(900, past) { // what is longer than the past is not announced
		return
	}
	score := 0.5
	if ok {
		score = 0
		for k, p := range []float64{0.1, 0.5, 0.9} {
			score += max(p*(left-announced[k]), (1-p)*(announced[k]-left)) / 3 / left
		}
	}
	f.full.add(score)
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// nextFull is, for each sample, the next at which memory is full, or the number of samples.
func nextFull(y []float64) []int {
	next, at := make([]int, len(y)), len(y)
	for i := len(y) - 1; i >= 0; i-- {
		if y[i] >= regime.Capacity {
			at = i
		}
		next[i] = at
	}
	return next
}

// relative is the error 60 s ahead over the naive method's.
func (f *fitted) relative() float64 {
	return (f.absolute.value() + tolerance) / (f.still.value() + tolerance)
}

// forecasts are gates 1 to 6.
func forecasts(o *options) []row {
	var timely []row
	var failed []string
	logs, far, count := 0.0, 0.0, 0
	within, printed := map[time.Duration]mean{}, mean{}
	families, n := regime.Families(), o.count(18)
	for _, family := range families {
		log, crps, ten := mean{}, make([]mean, len(baseline.All(1, 1))+1), [2]mean{}
		for k := range family.Regimes {
			g, full := &family.Regimes[k], mean{}
			for _, f := range each(max(n/len(family.Regimes), 1), func(i int) *fitted { return fit(g.Make(regime.Seeded(o.first+uint64(i))), g.Every()) }) {
				count++
				if f.absolute.n > 0 {
					log.add(math.Log(f.relative()))
				}
				for m := range crps {
					crps[m] = crps[m].with(f.minute[m])
				}
				for m := range ten {
					ten[m] = ten[m].with(f.ten[m])
				}
				for h, held := range f.within {
					within[h] = within[h].with(held)
				}
				full, printed = full.with(f.full), printed.with(f.printed)
			}
			if aim, ok := map[string]float64{"leak": 0.05, "bursts": 0.05, "staircase": 0.05, "leak under a sawtooth": 0.10}[g.Name]; ok {
				timely = append(timely, row{5, "quantile score of the time to full: " + g.Name, fmt.Sprintf("≤ %.2f", aim), fmt.Sprintf("%.3f", full.value()), full.value() <= aim, fmt.Sprintf("%.0f times", full.n)})
			}
		}
		best := slices.MinFunc(crps[1:], func(a, b mean) int { return int(math.Copysign(1, a.value()-b.value())) })
		ratio := crps[0].value() / best.value()
		logs, far = logs+log.value()/float64(len(families)), far+ten[0].value()/ten[1].value()/float64(len(families))
		o.detail("%s: relative error %.2f, CRPS over the best simple method's %.2f, over the naive method's at 600 s %.2f", family.Name, math.Exp(log.value()), ratio, ten[0].value()/ten[1].value())
		if ratio > 1.05 {
			failed = append(failed, fmt.Sprintf("%s %.2f", family.Name, ratio))
		}
	}
	of, beaten := fmt.Sprintf("%d series", count), len(families)-len(failed)
	rows := []row{
		{1, "relative error at 60 s", "≤ .36", fmt.Sprintf("%.3f", math.Exp(logs)), math.Exp(logs) <= 0.36, of},
		{2, "CRPS at 60 s ≤ 1.05 × the best simple method's", "≥ 6 of 8 families", strings.Join(append([]string{fmt.Sprint(beaten)}, failed...), "; "), beaten >= 6, of},
		{3, "CRPS at 600 s over the naive method's, before full", "≤ .90", fmt.Sprintf("%.3f", far), far <= 0.9, of},
	}
	for _, h := range []time.Duration{minute * time.Second, 300 * time.Second, tenMinutes * time.Second, 900 * time.Second} {
		held := within[h].value()
		rows = append(rows, row{4, fmt.Sprintf("memory within its 80 %% interval, %.0f s", h.Seconds()), "80 ± 4 %", fmt.Sprintf("%.1f %%", 100*held), math.Abs(held-0.8) <= 0.04, of})
	}
	rows = append(rows, timely...)
	return append(rows, row{6, "bounds as printed hold", "≥ 80 %", fmt.Sprintf("%.0f %%", 100*printed.value()), printed.value() >= 0.8, fmt.Sprintf("%.0f answers", printed.n)})
}

// realTraces is gate 12. The traces are no part of the project: VRAMSCOPE_TRACES is their
// directory.
func realTraces(o *options) []row {
	const groups = 18
	r := row{12, "real traces: error ≤ 1.02 × the naive method's at every horizon", "≥ 16 of 18 groups", "–", false, "no traces in VRAMSCOPE_TRACES"}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("VRAMSCOPE_TRACES"), "*.csv.gz")) // the pattern is right
	var all []*backtest.Series
	for _, name := range files {
		read, err := readTrace(name)
		if err != nil {
			r.of = err.Error()
			return []row{r}
		}
		all = append(all, read...)
	}
	if len(all) == 0 {
		return []row{r}
	}
	good := 0
	for g, worst := range each(groups, func(g int) (worst float64) {
		var group []*backtest.Score
		for i := g; i < len(all); i += groups {
			score, err := backtest.Replay(forecast.New(), all[i], nil)
			if err != nil {
				panic(err) // only a listener makes one
			}
			group = append(group, score)
		}
		for _, h := range backtest.Summarise(group...).Horizons {
			if h.Forecasts > 0 {
				worst = max(worst, float64(h.Relative))
			}
		}
		return worst
	}) {
		o.detail("real traces, group %d: %.3f at the worst horizon", g, worst)
		good += int(one(worst <= 1.02))
	}
	r.figure, r.met, r.of = fmt.Sprint(good), good >= 16, fmt.Sprintf("%d series", len(all))
	return []row{r}
}

func readTrace(name string) ([]*backtest.Series, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the trace: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	trace, err := backtest.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return trace.Series, nil
}
