package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vramscope/internal/forecastlab/regime"
)

// series is a scene of one process, which is old. It runs out of memory where the series
// reaches the capacity; where that is 0 there is no process.
type series struct {
	bytes   []float64
	every   float64 // seconds
	i, pid  int
	running bool
}

func (s *series) step() float64 { return s.every }

func (s *series) next() ([]regime.Process, *regime.Refusal, bool) {
	if s.i == len(s.bytes) {
		return nil, nil, false
	}
	v := s.bytes[s.i]
	var refused *regime.Refusal
	if v >= regime.Capacity && (s.i == 0 || s.bytes[s.i-1] < regime.Capacity) {
		refused = &regime.Refusal{}
	}
	s.i++
	if v == 0 {
		s.running = false
		return nil, refused, true
	}
	began := float64(s.i-1) * s.every
	if !s.running {
		s.running = true
		s.pid++
	}
	if s.pid == 1 {
		began = -day
	}
	return []regime.Process{{PID: s.pid, Began: began, Used: v, Command: "python train.py"}}, refused, true
}

// week is a scene of a shared GPU.
type week struct {
	gpu     *regime.Shared
	seconds int // that are left
}

func (*week) step() float64 { return 1 }

func (w *week) next() ([]regime.Process, *regime.Refusal, bool) {
	if w.seconds == 0 {
		return nil, nil, false
	}
	w.seconds--
	running, refused := w.gpu.Next()
	return running, refused, true
}

// mixedWeeks is gate 9.
func mixedWeeks(o *options) []row {
	weeks := o.count(9)
	played := each(weeks, func(i int) watched {
		return watch(&week{regime.NewShared(regime.Seeded(o.first + uint64(i))), 7 * day})
	})
	var days []tally
	wrongly, missed := map[string]int{}, map[string]int{}
	for i := range played {
		w := &played[i]
		days = append(days, w.days()...)
		for j := range w.alerts {
			if a := &w.alerts[j]; w.judge(a) == wrong {
				wrongly[a.cause]++
				o.detail("week %d, %.0f s: wrong: full in %.0f s, at the latest %.0f, %s grows", o.first+uint64(i), a.at, a.median, a.latest, a.cause)
			}
		}
		for k := range w.fills {
			if f := &w.fills[k]; f.slow() && w.lead(k) < f.enough() {
				missed[f.Kind]++
				o.detail("week %d, %.0f s: missed: %s of %.0f s, lead %.0f s", o.first+uint64(i), f.at, f.Kind, f.Grew, w.lead(k))
			}
		}
	}
	o.detail("wrong alerts by what grew: %s; missed fills: %s", counted(wrongly), counted(missed))
	var sum tally
	for _, d := range days {
		sum.add(d)
	}
	perDay, low, high := bootstrap(days, func(t *tally) float64 { return t.wrong / t.days })
	rows := []row{{
		9, "mixed weeks: wrong alerts a day and GPU", "≤ 1", fmt.Sprintf("%.2f (%.2f–%.2f)", perDay, low, high), perDay <= 1,
		fmt.Sprintf("%.0f alerts, %.0f GPU-days", sum.right+sum.wrong, sum.days),
	}}
	precision, low, high := bootstrap(days, func(t *tally) float64 { return t.right / (t.right + t.wrong) })
	rows = append(rows, row{9, "mixed weeks: precision", "≥ .8", fmt.Sprintf("%.2f (%.2f–%.2f)", precision, low, high), precision >= 0.8, fmt.Sprintf("%.0f fills", sum.fills)})
	caught, low, high := bootstrap(days, func(t *tally) float64 { return t.caught / t.slow })
	return append(rows, row{9, "mixed weeks: slow leaks and ramps caught", "≥ .9", fmt.Sprintf("%.2f (%.2f–%.2f)", caught, low, high), caught >= 0.9, fmt.Sprintf("%.0f slow fills", sum.slow)})
}

// counted writes counts, the largest first.
func counted(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, ", ")
}

// alertsAFill is gate 7.
func alertsAFill(o *options) []row {
	var names, missing []string
	worst, fills, n := 0.0, 0, o.count(18)
	for _, g := range regime.All() {
		if !g.Fills {
			continue
		}
		alerts, full := 0, 0
		for _, w := range each(n, func(i int) watched {
			return watch(&series{bytes: g.Make(regime.Seeded(o.first + uint64(i))), every: g.Every()})
		}) {
			alerts, full = alerts+len(w.alerts), full+len(w.fills)
		}
		each := float64(alerts) / float64(full)
		names, worst, fills = append(names, g.Name), max(worst, each), fills+full
		o.detail("%s: %d alerts, %d fills", g.Name, alerts, full)
		if each > 1.5 {
			missing = append(missing, fmt.Sprintf("%s %.1f", g.Name, each))
		}
	}
	what := "alerts a fill, the worst regime"
	if len(missing) > 0 {
		what = fmt.Sprintf("alerts a fill; %d of %d regimes miss it: %s", len(missing), len(names), strings.Join(missing, ", "))
	}
	return []row{{7, what, "≤ 1.5", fmt.Sprintf("%.1f", worst), worst <= 1.5, fmt.Sprintf("%d fills", fills)}}
}

// rampsLead is gate 8.
func rampsLead(o *options) []row {
	var rows []row
	n := o.count(60)
	for which, name := range regime.RampTextures {
		led := 0
		for _, ok := range each(n, func(i int) bool {
			y, begins := regime.TexturedRamp(regime.Seeded(o.first+uint64(i)), which)
			w := watch(&series{bytes: y, every: 1})
			lead, ramp := 0.0, w.fills[0].at-begins
			for j := range w.alerts {
				if a := &w.alerts[j]; a.at >= begins && w.judge(a) == right {
					lead = max(lead, w.fills[0].at-a.at)
				}
			}
			if lead < ramp/2 {
				o.detail("ramp with %s, seed %d: lead %.0f of %.0f s", name, o.first+uint64(i), lead, ramp)
			}
			return lead >= ramp/2
		}) {
			if ok {
				led++
			}
		}
		rows = append(rows, row{8, "ramps led by half: " + name, "≥ 90 %", share(led, n), float64(led) >= 0.9*float64(n), fmt.Sprintf("%d ramps", n)})
	}
	return rows
}

// harmlessGrowth is gate 10.
func harmlessGrowth(o *options) []row {
	var rows []row
	n := o.count(60)
	for _, kind := range []struct {
		name string
		make func(seed uint64) []float64
	}{
		{"saturating growth", func(seed uint64) []float64 { return regime.Saturating(regime.Seeded(seed)) }},
		{"late loads", func(seed uint64) []float64 { return regime.LateLoads(regime.Seeded(seed)) }},
	} {
		alarmed, alerts := 0, 0
		for i, w := range each(n, func(i int) watched {
			return watch(&series{bytes: kind.make(o.first + uint64(i)), every: 1})
		}) {
			if len(w.alerts) > 0 {
				alarmed++
				o.detail("%s, seed %d: full in %.0f s, at %.0f s", kind.name, o.first+uint64(i), w.alerts[0].median, w.alerts[0].at)
			}
			alerts += len(w.alerts)
		}
		rows = append(rows, row{10, kind.name + " alarmed", "≤ 10 %", share(alarmed, n), float64(alarmed) <= 0.1*float64(n), fmt.Sprintf("%d series, %d alerts", n, alerts)})
	}
	return rows
}
