//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// scenario is a box and a screen that programs are watched on.
type scenario struct {
	name            string
	gpus, processes int // processes are per GPU
	columns, rows   int
	still           bool   // nothing on the box changes
	peers           bool   // with every program, not only vramscope, nvtop and the floors
	long            bool   // watched for ten minutes, too
	graph           string // how far back vramscope's graph reaches; "": as far as vramscope chooses
}

// scenarios are measured in this order. -short runs only the first.
var scenarios = []scenario{
	{name: "8 × 8, ten minutes of graph", gpus: 8, processes: 8, columns: 200, rows: 50, peers: true, long: true, graph: "10m"},
	{name: "8 × 8 at 80×24", gpus: 8, processes: 8, columns: 80, rows: 24},
	{name: "8 × 8, one minute of graph", gpus: 8, processes: 8, columns: 200, rows: 50, graph: "1m"},
	{name: "8 × 8, nothing changes", gpus: 8, processes: 8, columns: 200, rows: 50, still: true},
	{name: "16 × 16", gpus: 16, processes: 16, columns: 200, rows: 50},
	{name: "16 × 64", gpus: 16, processes: 64, columns: 200, rows: 50, long: true},
	{name: "64 × 4", gpus: 64, processes: 4, columns: 200, rows: 50},
	{name: "8 × 625", gpus: 8, processes: 625, columns: 200, rows: 50, long: true},
}

// run watches all programs at once on this box, several times.
func (s scenario) run(dir string, programs []program, o options) ([]figures, error) {
	stage, err := newStage(dir, s)
	if err != nil {
		return nil, err
	}
	defer stage.close()
	watched := slices.DeleteFunc(slices.Clone(programs), func(p program) bool {
		return p.peer && (!s.peers || o.short) || p.once
	})
	return measure(watched, o.runs, func(p program, together *meeting) (measured, error) { return stage.watch(p, o, together) })
}

// mostTries is how often a run is tried in which a program fails. On a busy machine a
// program may start too late.
const mostTries = 3

// measure watches all programs at once, the given number of times. A run in which a program fails is
// repeated. Peers that fail are left out.
func measure(watched []program, times int, watch func(program, *meeting) (measured, error)) ([]figures, error) {
	runs := make([][]measured, len(watched)) // by program
	for tries, run := 1, 0; run < times; {
		measured, failed := watchAll(watched, watch)
		var missing error
		for i := len(watched) - 1; i >= 0; i-- {
			switch err := failed[i]; {
			case err == nil:
			case watched[i].peer:
				fmt.Fprintf(os.Stderr, "bench: %s is left out: %v\n", watched[i].name, err)
				watched, runs, measured = slices.Delete(watched, i, i+1), slices.Delete(runs, i, i+1), slices.Delete(measured, i, i+1)
			default:
				missing = fmt.Errorf("%s: %w", watched[i].name, err)
			}
		}
		switch {
		case missing == nil:
			for i := range runs {
				runs[i] = append(runs[i], measured[i])
			}
			tries, run = 1, run+1
		case tries == mostTries:
			return nil, missing
		default:
			fmt.Fprintf(os.Stderr, "bench: once more: %v\n", missing)
			tries++
		}
	}
	return summarize(watched, runs), nil
}

// watchAll watches all programs at once.
func watchAll(watched []program, watch func(program, *meeting) (measured, error)) ([]measured, []error) {
	all, failed := make([]measured, len(watched)), make([]error, len(watched))
	together := newMeeting(len(watched))
	var running sync.WaitGroup
	for i, p := range watched {
		running.Go(func() { all[i], failed[i] = watch(p, together) })
	}
	running.Wait()
	return all, failed
}

// wants reports whether the user has asked for a program.
func (o options) wants(name string) bool {
	if o.programs == "" || strings.HasPrefix(name, "nvtop") {
		return true
	}
	return slices.ContainsFunc(strings.Split(o.programs, ","), func(word string) bool { return strings.Contains(name, word) })
}

// meeting makes programs wait for each other, so that all are measured in the same seconds.
type meeting struct {
	sync.WaitGroup
}

func newMeeting(size int) *meeting {
	m := &meeting{}
	m.Add(size)
	return m
}

// meet waits until it has been called for all programs.
func (m *meeting) meet() {
	m.Done()
	m.Wait()
}
