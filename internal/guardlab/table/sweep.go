package main

import (
	"fmt"
	"time"

	"vramscope/internal/guardlab/bed"
	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
)

// sweepSeeds of each story are played at each cost. A few are enough, because each run is compared
// with the same seed without a guard.
const sweepSeeds = 6

// sweep returns how the cost of a flush affects the steps of all jobs.
func sweep(of seeds, length time.Duration) string {
	of.count = min(of.count, sweepSeeds)
	var stories []story.Story
	for _, s := range story.All() {
		if s.Kind != story.Unwinnable {
			stories = append(stories, s)
		}
	}
	all := bed.Policies()
	var policies []bed.Policy
	titles := []string{"steps of all jobs, at a cost of"}
	for _, p := range all {
		if p.Name == "none" || p.Name == "demand" || p.Name == "demand + rescue" {
			policies = append(policies, p)
		}
	}
	for _, p := range policies[1:] {
		titles = append(titles, p.Name, "13 "+stories[len(stories)-1].Name+": "+p.Name)
	}
	var rows [][]string
	for _, cost := range []world.Cost{
		{Sync: 5 * time.Millisecond, PerGiB: 100 * time.Microsecond}, usualCost, {Sync: 500 * time.Millisecond, PerGiB: 10 * time.Millisecond},
	} {
		m := measure(stories, policies, of, cost, length)
		row := []string{fmt.Sprintf("%s, %s/GiB", cost.Sync, cost.PerGiB)}
		for p := 1; p < len(policies); p++ {
			for _, kind := range []story.Kind{story.Winnable, story.Harmless} {
				row = append(row, change(m.pooled(kind, p).work.Hours(), m.pooled(kind, 0).work.Hours()))
			}
		}
		rows = append(rows, row)
	}
	return grid(titles, rows)
}
