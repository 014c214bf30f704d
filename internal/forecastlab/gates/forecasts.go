package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"vramscope/forecast"
	"vramscope/internal/forecastlab/baseline"
	"vramscope/internal/forecastlab/regime"
)

// tolerance is a difference, in bytes, that counts neither as an error nor as a miss.
const tolerance = 1 << 20

// probabilities are those of the quantiles that are scored.
var probabilities = [...]float64{0.025, 0.1, 0.5, 0.9, 0.975}

type quantiles [len(probabilities)]float64

// crps is the weighted interval score, which approximates the continuous ranked
// probability score from a median and two intervals (Bracher, Ray, Gneiting, Reich,
// Evaluating epidemic forecasts in an interval format, 2021).
func (q *quantiles) crps(y float64) float64 {
	interval := func(low, high, alpha float64) float64 {
		return alpha/2*(high-low) + max(low-y, 0) + max(y-high, 0)
	}
	return (math.Abs(y-q[2])/2 + interval(q[0], q[4], 0.05) + interval(q[1], q[3], 0.2)) / 2.5
}

// conformal gives a method quantiles: those of the errors of its last forecasts for as far
// ahead.
type conformal struct {
	method *baseline.Method
	ahead  int // samples
	made   []float64
	errors []float64
	offset quantiles
	last   float64
	moved  float64 // mean change from sample to sample
}

// kept is how many errors count.
const kept = 200

func (c *conformal) observe(y, step float64) {
	i := len(c.made)
	seconds := step
	if i == 0 {
		seconds = 0
	} else {
		c.moved += (math.Abs(y-c.last) - c.moved) / float64(i)
	}
	c.last = y
	c.method.Observe(seconds, y)
	c.made = append(c.made, c.method.Ahead(float64(c.ahead)*step, step))
	if i >= c.ahead && i%max(c.ahead/10, 1) == 0 {
		c.errors = append(c.errors, y-c.made[i-c.ahead])
		c.errors = c.errors[max(len(c.errors)-kept, 0):]
		sorted := slices.Sorted(slices.Values(c.errors))
		n := float64(len(sorted))
		for k, p := range probabilities {
			c.offset[k] = sorted[int(min(max(math.Round(p*(n+1))-1, 0), n-1))]
		}
		c.offset[2] = 0
	}
}

func (c *conformal) forecast() (q quantiles) {
	const few = 9
	for k, p := range probabilities {
		offset := c.offset[k]
		if len(c.errors) < few { // a random walk's
			offset = math.Sqrt2 * math.Erfinv(2*p-1) * c.moved * math.Sqrt(float64(c.ahead))
		}
		q[k] = c.made[len(c.made)-1] + offset
	}
	return q
}

// fitted is how a series was forecast. Its forecasts count where memory is not full before
// they are due.
type fitted struct {
	lost, naive, count float64         // 60 s ahead: absolute errors
	minute             []float64       // CRPS 60 s ahead: of the forecaster, then of each other method
	ten                [2]float64      // CRPS 600 s ahead: of the forecaster and of the naive method
	scored, within     map[int]float64 // 80 % intervals, by horizon in seconds
}

// fit forecasts a series by all methods.
func fit(y []float64, step float64) fitted {
	out := fitted{scored: map[int]float64{}, within: map[int]float64{}}
	ours := forecast.New()
	at := func(seconds int) int { return int(float64(seconds) / step) }
	var others []*conformal
	for _, m := range baseline.All() {
		others = append(others, &conformal{method: m, ahead: at(60)})
	}
	far := &conformal{method: baseline.All()[0], ahead: at(600)}
	full := nextFull(y)
	out.minute = make([]float64, 1+len(others))
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tens := 0.0
	for i, v := range y {
		ours.Observe(begin.Add(time.Duration(float64(i)*step*1e9)), int64(v))
		for _, o := range others {
			o.observe(v, step)
		}
		far.observe(v, step)
		for _, in := range ours.Forecasts(nil) {
			seconds := int(in.Horizon.Seconds())
			j := i + at(seconds)
			if j >= full[i] {
				continue
			}
			q := quantiles{float64(in.Lower95), float64(in.Lower80), float64(in.Median), float64(in.Upper80), float64(in.Upper95)}
			out.scored[seconds]++
			if y[j] >= q[1]-tolerance && y[j] <= q[3]+tolerance {
				out.within[seconds]++
			}
			switch seconds {
			case 60:
				out.count++
				out.lost += math.Abs(y[j] - q[2])
				out.naive += math.Abs(y[j] - v)
				out.minute[0] += q.crps(y[j])
				for k, o := range others {
					q := o.forecast()
					out.minute[1+k] += q.crps(y[j])
				}
			case 600:
				tens++
				out.ten[0] += q.crps(y[j])
				q := far.forecast()
				out.ten[1] += q.crps(y[j])
			}
		}
	}
	for k := range out.minute {
		out.minute[k] /= max(out.count, 1)
	}
	for k := range out.ten {
		out.ten[k] /= max(tens, 1)
	}
	return out
}

// nextFull is, for each sample, the next at which memory is full, or the number of samples.
func nextFull(y []float64) []int {
	next := make([]int, len(y))
	at := len(y)
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
	return (f.lost/f.count + tolerance) / (f.naive/f.count + tolerance)
}

// fits are the series of each family of regimes.
func fits(o *options) (families []string, all [][]fitted) {
	n := o.count(18)
	for _, family := range regime.Families() {
		families = append(families, family.Name)
		all = append(all, each(n, func(i int) fitted {
			g := &family.Regimes[i%len(family.Regimes)]
			return fit(g.Make(regime.Seeded(o.first+uint64(i))), g.Every())
		}))
	}
	return families, all
}

// memory is gates 1 to 4.
func memory(o *options) []row {
	names, all := fits(o)
	others := baseline.All()
	logs, series, beaten := 0.0, 0, 0
	var tens [2]float64
	var far []string
	scored, within := map[int]float64{}, map[int]float64{}
	for k, family := range all {
		log, crps := 0.0, make([]float64, 1+len(others))
		for i := range family {
			f := &family[i]
			log += math.Log(f.relative()) / float64(len(family))
			for m, v := range f.minute {
				crps[m] += v / float64(len(family)) / regime.GiB
			}
			for m, v := range f.ten {
				tens[m] += v
			}
			for h, count := range f.scored {
				scored[h] += count
				within[h] += f.within[h]
			}
			series++
		}
		logs += log / float64(len(all))
		best := slices.Index(crps, slices.Min(crps[1:]))
		o.detail("%s: relative error at 60 s %.2f, CRPS %.3f GiB, %s %.3f", names[k], math.Exp(log), crps[0], others[max(best, 1)-1].Name, slices.Min(crps[1:]))
		if crps[0] <= 1.05*slices.Min(crps[1:]) {
			beaten++
		} else {
			far = append(far, fmt.Sprintf("%s %.2f", names[k], crps[0]/slices.Min(crps[1:])))
		}
	}
	error, of := math.Exp(logs), fmt.Sprintf("%d series", series)
	rows := []row{
		{1, "relative error at 60 s", "≤ .36", fmt.Sprintf("%.3f", error), error <= 0.36, of},
		{2, "CRPS at 60 s ≤ 1.05 × the best simple method's", fmt.Sprintf("≥ 6 of %d regimes", len(all)), fmt.Sprintf("%d; not %s", beaten, strings.Join(far, ", ")), beaten >= 6, of},
		{3, "CRPS at 600 s over the naive method's, before full", "≤ .90", fmt.Sprintf("%.3f", tens[0]/tens[1]), tens[0] <= 0.9*tens[1], of},
	}
	for _, h := range []int{60, 300, 600, 900} {
		held := within[h] / scored[h]
		rows = append(rows, row{4, fmt.Sprintf("memory within its 80 %% interval, %d s", h), "80 ± 4 %", fmt.Sprintf("%.1f %%", 100*held), math.Abs(held-0.8) <= 0.04, of})
	}
	return rows
}

// answers are the times to full of a series that fills the GPU.
type answers struct {
	score, count float64 // quantile score of one to fifteen minutes before it is full
	printed      int     // answers
	held         int     // of them: the bounds as the screen rounds them
}

// answer asks for each sample of a series when it will be full.
func answer(y []float64, step float64) (a answers) {
	f, full := forecast.New(), nextFull(y)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, v := range y {
		f.Observe(begin.Add(time.Duration(float64(i)*step*1e9)), int64(v))
		if full[i] == len(y) || full[i] == i {
			continue
		}
		left := float64(full[i]-i) * step
		in, ok := f.FullIn(int64(regime.Capacity - v))
		if left >= 60 && left <= 900 && left <= float64(i)*step { // nothing is told beyond the past
			a.count++
			a.score += quantileScore(in, ok, left)
		}
		if ok && in.Median < 15*time.Minute {
			a.printed++
			if in.Earliest.Truncate(time.Minute).Seconds() <= left && left <= math.Ceil(in.Latest.Minutes())*60 {
				a.held++
			}
		}
	}
	return a
}

// quantileScore is the mean pinball loss of earliest, median and latest, over the time
// that is left. No answer is an error of 100 %.
func quantileScore(in forecast.FullIn, ok bool, left float64) float64 {
	if !ok {
		return 0.5
	}
	sum := 0.0
	for p, told := range map[float64]time.Duration{0.1: in.Earliest, 0.5: in.Median, 0.9: in.Latest} {
		late := left - told.Seconds()
		sum += max(p*late, (p-1)*late)
	}
	return sum / 3 / left
}

// timeToFull is gates 5 and 6.
func timeToFull(o *options) []row {
	var rows []row
	n, printed, held := o.count(18), 0, 0
	for _, g := range regime.All() {
		if !g.Fills {
			continue
		}
		score := 0.0
		for _, a := range each(n, func(i int) answers {
			return answer(g.Make(regime.Seeded(o.first+uint64(i))), g.Every())
		}) {
			score += a.score / max(a.count, 1) / float64(n)
			printed, held = printed+a.printed, held+a.held
		}
		o.detail("%s: quantile score %.3f", g.Name, score)
		if aim, ok := map[string]float64{"leak": 0.05, "bursts": 0.05, "staircase": 0.05, "leak under a sawtooth": 0.10}[g.Name]; ok {
			rows = append(rows, row{5, "quantile score of the time to full: " + g.Name, fmt.Sprintf("≤ %.2f", aim), fmt.Sprintf("%.3f", score), score <= aim, fmt.Sprintf("%d series", n)})
		}
	}
	return append(rows, row{6, "bounds as printed hold", "≥ 80 %", fmt.Sprintf("%.0f %%", 100*float64(held)/float64(printed)), float64(held) >= 0.8*float64(printed), fmt.Sprintf("%d answers", printed)})
}
