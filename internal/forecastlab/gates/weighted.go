package main

import (
	"math"
	"slices"
)

// experts are lines over three times, mean, median, autoregression and the last season.
const experts = 7

type claims [experts]float64

// simple is a simple method: it follows the samples of a series.
type simple interface {
	observe(y float64)
	change() float64 // that it expects, from the newest sample on
}

// naive expects that everything stays as it is.
type naive struct{}

func (naive) observe(float64) {}
func (naive) change() float64 { return 0 }

// weighted averages experts by exponential weights (Cesa-Bianchi, Lugosi, Prediction,
// Learning, and Games, 2006) on their discounted loss over the naive forecast's, in
// which a forecast counts by the size of its claim. It does what a review of the
// forecaster proposed to compare it with.
type weighted struct {
	recent
	ahead    int
	step     float64 // seconds between samples
	y        float64
	lines    [3]moments
	auto     moments // of changes, on where they began
	horizons [4]losses
}

// losses is what is known of the claims for a horizon. What is known of the next shorter
// one counts until there is more.
type losses struct {
	ahead       int
	due         []dueClaims
	lost, naive claims
}

type dueClaims struct {
	from   float64
	claims claims
}

func newWeighted(ahead int, step float64) *weighted {
	w := &weighted{ahead: ahead, step: step}
	for i, part := range []int{20, 6, 2, 1} {
		w.horizons[i].ahead = max(ahead/part, 1)
	}
	return w
}

func (w *weighted) observe(y float64) {
	change := y - w.y
	for i, tau := range []float64{12, 60, 300} { // seconds
		w.lines[i].move(math.Exp(-w.step/tau), 1, change)
		w.lines[i].add(0, 0)
	}
	if len(w.samples) > 0 {
		w.auto.move(math.Exp(-w.step/600), change, 0)
		w.auto.add(-change, change)
	}
	w.y = y
	w.add(y)
	for i := range w.horizons {
		l := &w.horizons[i]
		l.due = append(l.due, dueClaims{y, w.claims(l.ahead)})
		if len(l.due) > l.ahead {
			l.settle(y, math.Exp2(-w.step/max(1.5*float64(l.ahead)*w.step, 120)))
		}
	}
}

// settle scores the claims that are due. It keeps a share of what it knew.
func (l *losses) settle(y, keep float64) {
	first := l.due[0]
	l.due = l.due[1:]
	came := y - first.from
	for i, claim := range first.claims {
		size := math.Abs(claim)
		weight := size / max(size+math.Abs(came), 1)
		l.lost[i] = keep*l.lost[i] + weight*math.Abs(came-claim)
		l.naive[i] = keep*l.naive[i] + weight*math.Abs(came)
	}
}

// claims are the changes that the experts expect.
func (w *weighted) claims(samples int) (c claims) {
	ahead, newest := float64(samples), len(w.samples)-1
	for i := range w.lines {
		l := &w.lines[i]
		slope := l.slope()
		c[i] = slope * ahead
		if i > 0 { // the last seconds have only a slope
			c[i] += (l.y - slope*l.x) / l.n
		}
	}
	c[3] = average(w.samples) - w.y
	last := slices.Sorted(slices.Values(w.samples[max(len(w.samples)-120, 0):]))
	c[4] = last[len(last)/2] - w.y
	if share := -w.auto.slope(); share > 1e-6 && w.auto.n >= 20 {
		c[5] = -(w.auto.x + w.auto.y/share) / w.auto.n * math.Expm1(ahead*math.Log1p(-min(share, 0.999)))
	}
	if w.period > 0 && newest >= 2*w.period {
		cycles := samples/w.period + 1
		c[6] = w.samples[newest+samples-cycles*w.period] - w.y + float64(cycles)*(w.y-w.samples[newest-w.period])
	}
	return c
}

func (w *weighted) change() float64 {
	const rate = 30 // of the exponential weights: the best of 5, 10 and 30
	c := w.claims(w.ahead)
	sum, weights := 0.0, 1.0 // the naive forecast's, which claims nothing
	for i, claim := range c {
		if claim == 0 {
			continue
		}
		loss := 1.0
		for k := range w.horizons {
			l := &w.horizons[k]
			mass := float64(l.ahead) / 4 * max(math.Abs(claim)*float64(l.ahead)/float64(w.ahead), 1<<20)
			loss = (l.lost[i] + mass*loss) / (l.naive[i] + mass)
		}
		weight := math.Exp(rate * (1 - loss))
		sum, weights = sum+weight*claim, weights+weight
	}
	return sum / weights
}

// moments is discounted least squares of y on x, relative to an origin that moves.
type moments struct{ n, x, y, xx, xy float64 }

func (m *moments) move(keep, dx, dy float64) {
	*m = moments{
		keep * m.n, keep * (m.x - dx*m.n), keep * (m.y - dy*m.n),
		keep * (m.xx - 2*dx*m.x + dx*dx*m.n), keep * (m.xy - dx*m.y - dy*m.x + dx*dy*m.n),
	}
}

func (m *moments) add(x, y float64) {
	*m = moments{m.n + 1, m.x + x, m.y + y, m.xx + x*x, m.xy + x*y}
}

func (m *moments) slope() float64 {
	det := m.n*m.xx - m.x*m.x
	if m.n < 2 || det <= 1e-9*m.n*m.xx {
		return 0
	}
	return (m.n*m.xy - m.x*m.y) / det
}
