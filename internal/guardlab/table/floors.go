package main

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"vramscope/internal/guardlab/bed"
	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
)

// floor holds the results of one run that show the cost of a guard, or their sum over several runs.
type floor struct {
	hours, flushes          float64
	important, others, gave float64       // out-of-memory events: of important jobs, of other jobs, and of other jobs because of flushes
	work, stood             time.Duration // of the other jobs
}

func floorOf(r world.Result) floor {
	f := floor{hours: r.Time.Hours(), flushes: float64(len(r.Flushes)), work: r.Work - r.Important, stood: r.Stood}
	for _, event := range r.OutOfMemory {
		switch {
		case event.Important:
			f.important++
		default:
			f.others++
			if event.Gave {
				f.gave++
			}
		}
	}
	return f
}

func (f floor) plus(o floor) floor {
	return floor{
		f.hours + o.hours, f.flushes + o.flushes, f.important + o.important, f.others + o.others, f.gave + o.gave,
		f.work + o.work, f.stood + o.stood,
	}
}

// player is one way to play a story: under a policy, or with an oracle.
type player struct {
	name string
	play func(s story.Story, seed uint64) world.Result
}

func players(length time.Duration) []player {
	var all []player
	for _, p := range bed.Policies() {
		all = append(all, player{p.Name, func(s story.Story, seed uint64) world.Result { return bed.Play(s, seed, p, usualCost, length).Result }})
	}
	for _, o := range bed.Oracles() {
		all = append(all, player{"oracle: " + o.Name, func(s story.Story, seed uint64) world.Result { return o.Play(s, seed, usualCost, length) }})
	}
	return all
}

// floors returns a table of what other jobs lose in the winnable stories: without a guard, and under
// the policies and oracles whose names contain a text.
func floors(of seeds, length time.Duration, text string) string {
	var stories []story.Story
	for _, s := range story.All() {
		if s.Kind == story.Winnable {
			stories = append(stories, s)
		}
	}
	titles := []string{"stories 1 to 8", "important jobs' OOM/h", "others' OOM/h", "because they gave", "steps, other jobs", "of it standing still", "flushes/h"}
	for i := range stories {
		titles = append(titles, fmt.Sprint(i+1))
	}
	var rows [][]string
	var none []floor
	for _, p := range players(length) {
		if none != nil && !strings.Contains(p.name, text) {
			continue
		}
		each := make([]floor, len(stories)) // by story
		results := make([][]floor, len(stories))
		var wait sync.WaitGroup
		slots := make(chan struct{}, runtime.GOMAXPROCS(0))
		for i := range stories {
			results[i] = make([]floor, of.count)
			for k := range of.count {
				slots <- struct{}{}
				wait.Go(func() {
					results[i][k] = floorOf(p.play(stories[i], of.first+k))
					<-slots
				})
			}
		}
		wait.Wait()
		var total, base floor
		for i := range stories {
			for _, r := range results[i] {
				each[i] = each[i].plus(r)
			}
			total = total.plus(each[i])
		}
		if none == nil {
			none = each
		}
		for _, f := range none {
			base = base.plus(f)
		}
		row := []string{
			p.name, figure("%.2f", total.important/total.hours), figure("%.1f", total.others/total.hours), figure("%.1f", total.gave/total.hours),
			change(total.work.Hours(), base.work.Hours()), figure("%+.2f %%", -100*(total.stood-base.stood).Hours()/base.work.Hours()), figure("%.1f", total.flushes/total.hours),
		}
		for i, f := range each {
			row = append(row, change(f.work.Hours(), none[i].work.Hours()))
		}
		rows = append(rows, row)
	}
	return grid(titles, rows)
}
