package main

import (
	"fmt"
	"math/rand/v2"

	"vramscope/internal/forecastlab/regime"
)

// trial is a gate on the share of series for which something holds.
type trial struct {
	gate        int
	what        string
	least, most float64 // share
	n           int
	step        float64 // seconds between samples
	make        func(r *rand.Rand) (y []float64, begins float64)
	holds       func(w *watched, begins float64) bool
}

const rarely = 1.0 / 6

func plain(make func(*rand.Rand) []float64) func(*rand.Rand) ([]float64, float64) {
	return func(r *rand.Rand) ([]float64, float64) { return make(r), 0 }
}

func alarmed(w *watched, _ float64) bool { return len(w.alerts) > 0 }

func calledLeak(w *watched, _ float64) bool { return w.leak > 0 }

// calledInTime reports whether a process is called a leak within a quarter of an hour of the leak's start.
func calledInTime(w *watched, begins float64) bool { return w.leak >= begins && w.leak <= begins+900 }

// ledByHalf reports whether a right alert comes in the first half of a ramp.
func ledByHalf(w *watched, begins float64) bool {
	full := w.fills[0].at
	for i := range w.alerts {
		if a := &w.alerts[i]; a.at >= begins && a.at <= (begins+full)/2 && w.judge(a) == right {
			return true
		}
	}
	return false
}

// trials returns gates 8, 10 and 11.
func trials() []trial {
	all := []trial{
		{10, "saturating growth alarmed", 0, 0.1, 60, 1, plain(regime.Saturating), alarmed},
		{10, "late loads alarmed", 0, 0.1, 60, 1, plain(regime.LateLoads), alarmed},
		{11, "leaks called within 15 min of their start", 0.9, 1, 60, 1, regime.LateLeak, calledInTime},
		{11, "bounded walks called leaks", 0, rarely, 36, 1, plain(regime.BoundedWalk), calledLeak},
		{11, "long first epochs called leaks", 0, rarely, 36, 1, plain(regime.LongFirstEpoch), calledLeak},
		{11, "sines of a day called leaks", 0, rarely, 36, regime.DaySineStep, plain(regime.DaySine), calledLeak},
	}
	for which, name := range regime.RampTextures {
		ramp := func(r *rand.Rand) ([]float64, float64) { return regime.TexturedRamp(r, which) }
		all = append(all, trial{8, "ramps led by half: " + name, 0.9, 1, 60, 1, ramp, ledByHalf})
	}
	return all
}

func (t *trial) measure(o *options) row {
	n, k := o.count(t.n), 0
	for i, holds := range each(n, func(i int) bool {
		y, begins := t.make(regime.Seeded(o.first + uint64(i)))
		w := watch(alone(y), t.step)
		return t.holds(&w, begins)
	}) {
		if holds {
			k++
		}
		if holds == (t.least == 0) {
			o.detail("%s: seed %d misses it", t.what, o.first+uint64(i))
		}
	}
	aim, p := fmt.Sprintf("≥ %.0f %%", 100*t.least), float64(k)/float64(n)
	if t.least == 0 {
		aim = fmt.Sprintf("≤ %.0f %%", 100*t.most)
	}
	return row{t.gate, t.what, aim, share(k, n), p >= t.least && p <= t.most, fmt.Sprintf("%d series", n)}
}
