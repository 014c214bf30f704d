package main

import (
	"iter"
	"slices"
	"strings"
	"time"

	"vramscope/internal/forecastlab/regime"
	"vramscope/internal/process"
	"vramscope/sampler/replay"
	"vramscope/sampler/snapshot"
)

// alert is an alert "full in" at the moment that it was raised. Times are in seconds.
type alert struct {
	at, until      float64
	median, latest float64 // latest is 0 if the interval has no late end
}

// fill is a moment at which the GPU was out of memory.
type fill struct {
	at float64
	regime.Refusal
}

// watched holds the alerts that the monitor raised for one GPU, and the fills that happened there.
type watched struct {
	seconds float64
	alerts  []alert
	fills   []fill
	leak    float64 // when a process was first called a leak; 0: none was
}

// scene yields the processes of a GPU at each sample, and the allocation refused then, nil if none was.
type scene = iter.Seq2[[]regime.Process, *regime.Refusal]

// alone returns a scene of one old process, which runs out of memory when the series reaches the
// capacity.
func alone(bytes []float64) scene {
	return func(yield func([]regime.Process, *regime.Refusal) bool) {
		for _, used := range bytes {
			var refused *regime.Refusal
			if used >= regime.Capacity {
				refused = &regime.Refusal{}
			}
			if !yield([]regime.Process{{PID: 1, Began: -day, Used: used, Command: "python train.py"}}, refused) {
				return
			}
		}
	}
}

// week returns a scene of a shared GPU.
func week(gpu *regime.Shared) scene {
	return func(yield func([]regime.Process, *regime.Refusal) bool) {
		for range 7 * day {
			if !yield(gpu.Next()) {
				return
			}
		}
	}
}

// watch shows a scene to the monitor: to a Sampler with its alerts, on a simulated clock with step
// seconds between samples.
func watch(s scene, step float64) (w watched) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	machine := &replay.Machine{}
	monitor := machine.Watch(time.Duration(step * 1e9))
	stood := false
	for running, refused := range s {
		t := w.seconds
		w.seconds += step
		if refused != nil {
			w.fills = append(w.fills, fill{t, *refused})
		}
		now := began.Add(time.Duration(t * 1e9))
		set(machine, now, began, running)
		snap := monitor.Tick(now)
		stands := slices.ContainsFunc(snap.Alerts, func(a snapshot.Alert) bool { return a.Kind == snapshot.AlertFullIn })
		if stands && !stood {
			a := alert{at: t}
			if full := snap.GPUs[0].FullIn; full != nil {
				a.median, a.latest = full.Median.Seconds(), full.Latest.Seconds()
			}
			w.alerts = append(w.alerts, a)
		}
		if stands {
			w.alerts[len(w.alerts)-1].until = t
		}
		stood = stands
		if w.leak == 0 && slices.ContainsFunc(snap.Rows, func(p snapshot.Process) bool { return p.Trend == snapshot.TrendLeak }) {
			w.leak = t
		}
	}
	return w
}

// set makes the machine run these processes.
func set(machine *replay.Machine, now, began time.Time, running []regime.Process) {
	used, all := 0.0, make([]replay.Process, len(running))
	for i := range running {
		p := &running[i]
		used += p.Used
		all[i] = replay.Process{Used: int64(p.Used), Info: process.Info{
			Identity: process.Identity{PID: p.PID, StartTime: uint64(p.PID), Namespace: 1}, User: "alice",
			Started: began.Add(time.Duration(p.Began * 1e9)), Command: strings.Fields(p.Command),
		}}
	}
	machine.Set(now, int64(used), int64(regime.Capacity), all...)
}
