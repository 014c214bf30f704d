package baseline

import (
	"math"
	"slices"

	"vramscope/forecast"
)

const (
	rate    = 30.0 // of the exponential weights: the best of 5, 10 and 30
	waiting = 14   // forecasts that a horizon keeps until they are due
	prior   = 3.0  // forecasts that the next shorter horizon's loss counts as
	recall  = 600  // seconds of the autoregression
	middle  = 120  // samples of the median
)

// experts are lines over three times, mean, median, autoregression and the last season.
const experts = 7

type claims [experts]float64

// weighted averages experts by exponential weights (Cesa-Bianchi, Lugosi, Prediction,
// Learning, and Games, 2006) on their discounted loss over the naive forecast's, in
// which a forecast counts by the size of its claim. It does what a review of the
// forecaster proposed to compare it with.
type weighted struct {
	now, y   float64
	lines    [3]moments
	auto     moments // of changes, on where they began
	recent   []float64
	since    int // samples since the last search for a period
	period   int // samples; 0: none
	horizons [len(forecast.Horizons)]losses
}

// losses is what is known of a horizon.
type losses struct {
	due         []dueClaims
	lost, naive claims
	scored      float64
}

type dueClaims struct {
	at, from float64
	claims   claims
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

func (w *weighted) observe(seconds, y float64) {
	change := y - w.y
	for i, tau := range []float64{12, 60, 300} {
		w.lines[i].move(math.Exp(-seconds/tau), seconds, change)
		w.lines[i].add(0, 0)
	}
	if seconds > 0 {
		w.auto.move(math.Exp(-seconds/recall), change, 0)
		w.auto.add(-change, change)
	}
	w.now += seconds
	w.y = y
	w.recent = append(w.recent, y)
	w.recent = w.recent[max(len(w.recent)-window, 0):]
	if w.since++; w.since >= refresh && len(w.recent) >= 2*refresh {
		w.since, w.period = 0, period(w.recent)
	}
	for i := range w.horizons {
		l, h := &w.horizons[i], forecast.Horizons[i].Seconds()
		l.settle(w.now, y, h)
		if n := len(l.due); n == 0 || n < waiting && w.now+h-l.due[n-1].at >= h/(waiting-1) {
			l.due = append(l.due, dueClaims{w.now + h, y, w.claims(h, max(seconds, 1))})
		}
	}
}

// settle scores the claims that are due.
func (l *losses) settle(now, y, h float64) {
	for len(l.due) > 0 && l.due[0].at <= now {
		came, keep := y-l.due[0].from, math.Exp2((l.scored-now)/max(1.5*h, 120))
		for i, claim := range l.due[0].claims {
			size := math.Abs(claim)
			weight := size / max(size+math.Abs(came), 1)
			l.lost[i] = keep*l.lost[i] + weight*math.Abs(came-claim)
			l.naive[i] = keep*l.naive[i] + weight*math.Abs(came)
		}
		l.scored, l.due = now, l.due[1:]
	}
}

// claims are the changes that the experts expect.
func (w *weighted) claims(seconds, step float64) (c claims) {
	for i := range w.lines {
		l := &w.lines[i]
		slope := l.slope()
		c[i] = slope * seconds
		if i > 0 { // the last seconds have only a slope
			c[i] += (l.y - slope*l.x) / l.n
		}
	}
	c[3] = mean(w.recent) - w.y
	last := slices.Sorted(slices.Values(w.recent[max(len(w.recent)-middle, 0):]))
	c[4] = last[len(last)/2] - w.y
	if share := -w.auto.slope(); share > 1e-6 && w.auto.n >= forecast.MinSamples {
		c[5] = -(w.auto.x + w.auto.y/share) / w.auto.n * math.Expm1(seconds/step*math.Log1p(-min(share, 0.999)))
	}
	if newest := len(w.recent) - 1; w.period > 0 && newest >= 2*w.period {
		ahead := int(math.Round(seconds / step))
		cycles := ahead/w.period + 1
		c[6] = w.recent[newest+ahead-cycles*w.period] - w.y + float64(cycles)*(w.y-w.recent[newest-w.period])
	}
	return c
}

func (w *weighted) change(seconds, step float64) float64 {
	c := w.claims(seconds, step)
	var loss claims
	for i := range loss {
		loss[i] = 1
	}
	for k := range w.horizons {
		l, h := &w.horizons[k], forecast.Horizons[k].Seconds()
		for i, claim := range c {
			mass := prior * max(math.Abs(claim)*h/seconds, 1<<20)
			loss[i] = (l.lost[i] + mass*loss[i]) / (l.naive[i] + mass)
		}
		if h >= seconds {
			break
		}
	}
	sum, weights := 0.0, 1.0 // the naive forecast's, which claims nothing
	for i, claim := range c {
		if claim != 0 {
			weight := math.Exp(rate * (1 - loss[i]))
			sum, weights = sum+weight*claim, weights+weight
		}
	}
	return sum / weights
}
