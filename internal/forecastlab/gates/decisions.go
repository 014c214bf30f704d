package main

import (
	"fmt"
	"strings"

	"vramscope/internal/forecastlab/regime"
)

// mixedWeeks returns gate 9.
func mixedWeeks(o *options) []row {
	var days []tally
	for _, w := range each(o.count(9), func(i int) watched { return watch(week(regime.NewShared(regime.Seeded(o.first+uint64(i)))), 1) }) {
		days = append(days, w.days()...)
	}
	sum := total(days)
	figure := func(what, aim string, of string, met func(float64) bool, value func(*tally) float64) row {
		v, low, high := bootstrap(days, value)
		return row{9, "mixed weeks: " + what, aim, fmt.Sprintf("%.2f (%.2f–%.2f)", v, low, high), met(v), of}
	}
	return []row{
		figure("wrong alerts a day and GPU", "≤ 1", fmt.Sprintf("%.0f alerts, %.0f GPU-days", sum.right+sum.wrong, sum.days),
			func(v float64) bool { return v <= 1 }, func(t *tally) float64 { return t.wrong / t.days }),
		figure("precision", "≥ .8", fmt.Sprintf("%.0f fills", sum.fills),
			func(v float64) bool { return v >= 0.8 }, func(t *tally) float64 { return t.right / (t.right + t.wrong) }),
		figure("slow leaks and ramps caught", "≥ .9", fmt.Sprintf("%.0f slow fills", sum.slow),
			func(v float64) bool { return v >= 0.9 }, func(t *tally) float64 { return t.caught / t.slow }),
	}
}

// alertsAFill returns gate 7.
func alertsAFill(o *options) []row {
	var missing []string
	worst, fills, n := 0.0, 0, o.count(18)
	for _, g := range regime.All() {
		if !g.Fills {
			continue
		}
		alerts, full := 0, 0
		for _, w := range each(n, func(i int) watched {
			return watch(alone(g.Make(regime.Seeded(o.first+uint64(i)))), g.Every())
		}) {
			alerts, full = alerts+len(w.alerts), full+len(w.fills)
		}
		ratio := float64(alerts) / float64(full)
		worst, fills = max(worst, ratio), fills+full
		o.detail("%s: %d alerts, %d fills", g.Name, alerts, full)
		if ratio > 1.5 {
			missing = append(missing, fmt.Sprintf("%s %.1f", g.Name, ratio))
		}
	}
	what := "alerts a fill, the worst regime"
	if len(missing) > 0 {
		what += "; missed by " + strings.Join(missing, ", ")
	}
	return []row{{7, what, "≤ 1.5", fmt.Sprintf("%.1f", worst), worst <= 1.5, fmt.Sprintf("%d fills", fills)}}
}
