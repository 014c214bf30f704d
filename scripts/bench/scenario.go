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
	gpus, processes int // processes are those of one GPU
	columns, rows   int
	still           bool   // nothing on the box changes
	peers           bool   // with every program, not only vramscope, nvtop and the floors
	long            bool   // watched for ten minutes, too
	graph           string // how far back vramscope's graph reaches, where not as far as it chooses
}

// The first is the one that -short runs.
var scenarios = []scenario{
	{name: "8 × 8", gpus: 8, processes: 8, columns: 200, rows: 50, peers: true, long: true, graph: "10m"},
	{name: "8 × 8 at 80×24", gpus: 8, processes: 8, columns: 80, rows: 24},
	{name: "8 × 8, one minute of graph", gpus: 8, processes: 8, columns: 200, rows: 50, graph: "1m"},
	{name: "8 × 8, nothing changes", gpus: 8, processes: 8, columns: 200, rows: 50, still: true},
	{name: "16 × 16", gpus: 16, processes: 16, columns: 200, rows: 50},
	{name: "16 × 64", gpus: 16, processes: 64, columns: 200, rows: 50, long: true},
	{name: "64 × 4", gpus: 64, processes: 4, columns: 200, rows: 50},
	{name: "8 × 625", gpus: 8, processes: 625, columns: 200, rows: 50, long: true},
}

// run watches all programs at once on this box, so many times.
func (s scenario) run(dir string, programs []program, o options) ([]figures, error) {
	stage, err := newStage(dir, s)
	if err != nil {
		return nil, err
	}
	defer stage.close()
	watched := slices.DeleteFunc(slices.Clone(programs), func(p program) bool {
		return p.peer && (!s.peers || o.short) || p.once
	})
	runs := make([][]measured, len(watched)) // by program
	for i := range runs {
		runs[i] = make([]measured, o.runs)
	}
	for run := range o.runs {
		failed := make([]error, len(watched))
		together := newMeeting(len(watched))
		var running sync.WaitGroup
		for i, p := range watched {
			running.Go(func() {
				runs[i][run], failed[i] = stage.watch(p, o, together)
			})
		}
		running.Wait()
		for i := len(watched) - 1; i >= 0; i-- {
			err := failed[i]
			if err == nil {
				continue
			}
			if !watched[i].peer {
				return nil, fmt.Errorf("%s: %w", watched[i].name, err)
			}
			fmt.Fprintf(os.Stderr, "bench: %s is left out: %v\n", watched[i].name, err)
			watched, runs = slices.Delete(watched, i, i+1), slices.Delete(runs, i, i+1)
		}
	}
	return summarize(watched, runs), nil
}

// wants reports whether the user has asked for a program.
func (o options) wants(name string) bool {
	if o.programs == "" || strings.HasPrefix(name, "nvtop") {
		return true
	}
	return slices.ContainsFunc(strings.Split(o.programs, ","), func(word string) bool { return strings.Contains(name, word) })
}

// meeting lets programs be measured in the same seconds.
type meeting struct {
	sync.WaitGroup
}

func newMeeting(size int) *meeting {
	m := &meeting{}
	m.Add(size)
	return m
}

// meet waits for all others.
func (m *meeting) meet() {
	m.Done()
	m.Wait()
}
