package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// within returns the time in which the GPU must fill up for the alert to be right: twice the median of
// the announced time or 1.5 times its late end, whichever is longer.
func (a *alert) within() float64 { return max(2*a.median, 1.5*a.latest) }

// verdict says whether an alert was right.
type verdict uint8

const (
	right verdict = iota
	wrong
	open // the scene ends before the alert is decided
)

// judge finds out whether an alert was right.
func (w *watched) judge(a *alert) verdict {
	for i := range w.fills {
		if left := w.fills[i].at - a.at; left >= 0 && left <= a.within() {
			return right
		}
	}
	if a.at+a.within() > w.seconds {
		return open
	}
	return wrong
}

// lead returns how many seconds before a fill its first alert was raised; 0 if none was. An alert
// belongs to the fill if it still stands when the fill comes, or if it was right and raised while
// memory grew. A refusal of another process may have cleared such an alert.
func (w *watched) lead(k int) float64 {
	f := &w.fills[k]
	for i := range w.alerts {
		a := &w.alerts[i]
		if left := f.at - a.at; left >= 0 && (a.until >= f.at-1 || left <= min(a.within(), f.Grew)) {
			return left
		}
	}
	return 0
}

// slow reports whether a leak or a ramp grew for a minute or more before the fill.
func (f *fill) slow() bool { return f.Grew >= 60 }

// enough returns the lead that a slow fill must have: two minutes or half of the time that memory
// grew, whichever is less.
func (f *fill) enough() float64 { return min(120, f.Grew/2) }

// tally counts the days, the alerts and the fills of some time.
type tally struct{ days, right, wrong, slow, caught, fills float64 }

func (t *tally) add(o tally) {
	t.days += o.days
	t.right += o.right
	t.wrong += o.wrong
	t.slow += o.slow
	t.caught += o.caught
	t.fills += o.fills
}

const day = 86_400

// days returns the tallies of each day of a scene.
func (w *watched) days() []tally {
	all := make([]tally, int(math.Ceil(w.seconds/day)))
	for i := range all {
		all[i].days = min(w.seconds/day-float64(i), 1)
	}
	for i := range w.alerts {
		t := &all[int(w.alerts[i].at/day)]
		switch w.judge(&w.alerts[i]) {
		case right:
			t.right++
		case wrong:
			t.wrong++
		}
	}
	for k := range w.fills {
		t := &all[int(w.fills[k].at/day)]
		t.fills++
		if w.fills[k].slow() {
			t.slow++
			if w.lead(k) >= w.fills[k].enough() {
				t.caught++
			}
		}
	}
	return all
}

func total(days []tally) (sum tally) {
	for _, t := range days {
		sum.add(t)
	}
	return sum
}

// bootstrap returns a figure of all days, and its 95 % interval by resampling the days.
func bootstrap(days []tally, figure func(*tally) float64) (all, low, high float64) {
	r := rand.New(rand.NewPCG(1, 2))
	drawn := make([]float64, 2000)
	for i := range drawn {
		var sum tally
		for range days {
			sum.add(days[r.IntN(len(days))])
		}
		drawn[i] = figure(&sum)
	}
	slices.Sort(drawn)
	sum := total(days)
	return figure(&sum), drawn[len(drawn)/40], drawn[len(drawn)-len(drawn)/40-1]
}

// share writes k of n as a percentage with its 95 % interval (Wilson, Probable Inference, 1927).
func share(k, n int) string {
	if n == 0 {
		return "–"
	}
	p, m, z := float64(k)/float64(n), float64(n), 1.96
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return fmt.Sprintf("%.0f %% (%.0f–%.0f)", 100*p, max(100*(middle-half)/(1+z*z/m), 0), 100*(middle+half)/(1+z*z/m))
}
