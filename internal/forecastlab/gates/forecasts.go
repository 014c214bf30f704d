package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// Horizons, in seconds.
const minute, tenMinutes = 60, 600

// simplest holds, by family, the best simple method's CRPS at 60 s as a share of the naive method's,
// where that share is below 1. The simple method mixes seven experts by exponential weights on their
// discounted losses (Cesa-Bianchi, Lugosi, Prediction, Learning, and Games, 2006), at seeds 30000 and
// following. The program is in commit d3287315.
var simplest = map[string]float64{"noise": 0.9518, "slow change": 0.24864, "leak": 0.15364, "stairs": 0.62305}

// fitted is how well a series was forecast, until memory is full.
type fitted struct {
	score   *backtest.Score
	minute  [2]mean // CRPS 60 s ahead: ours and the naive method's
	ten     [2]mean // CRPS 600 s ahead
	full    mean    // quantile score of the time to full
	printed mean    // share of intervals that hold as the screen rounds them
}

type mean struct{ sum, n float64 }

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m mean) value() float64 { return m.sum / m.n }

func (m mean) with(o mean) mean { return mean{m.sum + o.sum, m.n + o.n} }

// fit scores the forecasts of a series, ours and the naive method's.
func fit(y []float64, step float64) *fitted {
	full := len(y)
	if i := slices.Index(y, regime.Capacity); i >= 0 {
		full = i
	}
	soon, late := int(minute/step), int(tenMinutes/step)
	atMinute, atTen := &conformal{ahead: soon}, &conformal{ahead: late}
	samples := make([]backtest.Sample, full)
	for i, v := range y[:full] {
		samples[i] = backtest.Sample{Seconds: float64(i) * step, Used: int64(v), Total: int64(regime.Capacity)}
	}
	out, i := &fitted{}, 0
	out.score = backtest.Replay(forecast.New(), &backtest.Series{Samples: samples}, func(sample *backtest.Sample, answer *backtest.Answer) {
		atMinute.observe(y[i])
		atTen.observe(y[i])
		for _, in := range answer.Forecasts {
			if j := i + int(in.Horizon.Seconds()/step); j >= full {
				continue
			} else if in.Horizon == minute*time.Second {
				add(&out.minute, in, y[j], atMinute)
			} else if in.Horizon == tenMinutes*time.Second {
				add(&out.ten, in, y[j], atTen)
			}
		}
		if full < len(y) {
			out.addFull(answer, float64(full-i)*step, sample.Seconds)
		}
		i++
	})
	return out
}

// add scores a forecast, and the naive one, by their CRPS.
func add(to *[2]mean, in forecast.Interval, came float64, naive *conformal) {
	q := quantiles{float64(in.Lower95), float64(in.Lower80), float64(in.Median), float64(in.Upper80), float64(in.Upper95)}
	to[0].add(q.crps(came))
	to[1].add(naive.forecast().crps(came))
}

// addFull scores the time to full. No answer is an error of 100 %.
func (f *fitted) addFull(answer *backtest.Answer, left, past float64) {
	in, ok := answer.Full, answer.Fills
	announced := [...]float64{in.Earliest.Seconds(), in.Median.Seconds(), in.Latest.Seconds()}
	if ok && announced[1] < 900 {
		f.printed.add(one(math.Floor(announced[0]/60)*60 <= left && left <= math.Ceil(announced[2]/60)*60))
	}
	if left < 60 || left > min(900, past) { // a time longer than the past is not announced
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

// forecasts returns gates 1 to 6.
func forecasts(o *options) []row {
	var timely []row
	var failed []string
	var all []*backtest.Score
	logs, far, printed := 0.0, 0.0, mean{}
	families, n := regime.Families(), o.count(18)
	for _, family := range families {
		var scores []*backtest.Score
		var crps, ten [2]mean
		for k := range family.Regimes {
			g, full := &family.Regimes[k], mean{}
			for _, f := range each(max(n/len(family.Regimes), 1), func(i int) *fitted { return fit(g.Make(regime.Seeded(o.first+uint64(i))), g.Every()) }) {
				scores = append(scores, f.score)
				for m := range crps {
					crps[m], ten[m] = crps[m].with(f.minute[m]), ten[m].with(f.ten[m])
				}
				full, printed = full.with(f.full), printed.with(f.printed)
			}
			if aim, ok := map[string]float64{"leak": 0.05, "bursts": 0.05, "staircase": 0.05, "leak under a sawtooth": 0.10}[g.Name]; ok {
				timely = append(timely, row{5, "quantile score of the time to full: " + g.Name, fmt.Sprintf("≤ %.2f", aim), fmt.Sprintf("%.3f", full.value()), full.value() <= aim, fmt.Sprintf("%.0f times", full.n)})
			}
		}
		all = append(all, scores...)
		relative := float64(backtest.Summarise(scores...).Horizons[2].Relative)
		ratio, tenth := crps[0].value()/crps[1].value()/cmp.Or(simplest[family.Name], 1), ten[0].value()/ten[1].value()
		logs, far = logs+math.Log(relative)/float64(len(families)), far+tenth/float64(len(families))
		o.detail("%s: relative error %.2f, CRPS over the best simple method's %.2f, over the naive method's at 600 s %.2f", family.Name, relative, ratio, tenth)
		if ratio > 1.05 {
			failed = append(failed, fmt.Sprintf("%s %.2f", family.Name, ratio))
		}
	}
	of, beaten := fmt.Sprintf("%d series", len(all)), len(families)-len(failed)
	rows := []row{
		{1, "relative error at 60 s", "≤ .36", fmt.Sprintf("%.3f", math.Exp(logs)), math.Exp(logs) <= 0.36, of},
		{2, "CRPS at 60 s ≤ 1.05 × the best simple method's", "≥ 6 of 8 families", strings.Join(append([]string{fmt.Sprint(beaten)}, failed...), "; "), beaten >= 6, of},
		{3, "CRPS at 600 s over the naive method's, before full", "≤ .90", fmt.Sprintf("%.3f", far), far <= 0.9, of},
	}
	for _, h := range backtest.Summarise(all...).Horizons {
		if held := float64(h.In80.Coverage); slices.Contains([]float64{minute, 300, tenMinutes, 900}, h.Seconds) {
			rows = append(rows, row{4, fmt.Sprintf("memory within its 80 %% interval, %.0f s", h.Seconds), "80 ± 4 %", fmt.Sprintf("%.1f %%", 100*held), math.Abs(held-0.8) <= 0.04, of})
		}
	}
	rows = append(rows, timely...)
	return append(rows, row{6, "bounds as printed hold", "≥ 80 %", fmt.Sprintf("%.0f %%", 100*printed.value()), printed.value() >= 0.8, fmt.Sprintf("%.0f answers", printed.n)})
}
