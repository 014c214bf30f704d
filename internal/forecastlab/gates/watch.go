package main

import (
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
	median, latest float64 // latest 0: open
	cause          string  // the kind of the process that has grown most in half a minute
}

// fill is that the GPU was out of memory.
type fill struct {
	at float64
	regime.Refusal
}

// watched is what the monitor said of one GPU, and what happened.
type watched struct {
	seconds float64
	alerts  []alert
	fills   []fill
	leak    float64 // when a process was first called a leak; 0: none was
}

// watch shows a scene to the monitor: to a Sampler with its alerts, on a simulated clock.
func watch(s scene) watched {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	machine := &replay.Machine{}
	monitor := machine.Watch(time.Duration(s.step() * 1e9))
	var w watched
	stood, before := false, map[int]float64{}
	for t := 0.0; ; t += s.step() {
		running, refused, more := s.next()
		if !more {
			w.seconds = t
			return w
		}
		if refused != nil {
			w.fills = append(w.fills, fill{t, *refused})
		}
		now := began.Add(time.Duration(t * 1e9))
		set(machine, now, began, running)
		snap := monitor.Tick(now)
		stands := false
		for i := range snap.Alerts {
			stands = stands || snap.Alerts[i].Kind == snapshot.AlertFullIn
		}
		if stands && !stood {
			a := alert{at: t, cause: grower(running, before)}
			if full := snap.GPUs[0].FullIn; full != nil {
				a.median, a.latest = full.Median.Seconds(), full.Latest.Seconds()
			}
			w.alerts = append(w.alerts, a)
		}
		if stands {
			w.alerts[len(w.alerts)-1].until = t
		}
		stood = stands
		for i := range snap.Rows {
			if w.leak == 0 && snap.Rows[i].Trend == snapshot.TrendLeak {
				w.leak = t
			}
		}
		for i := range running {
			p := &running[i]
			before[p.PID] += (p.Used - before[p.PID]) * min(s.step()/30, 1)
		}
	}
}

// set has the machine run these processes.
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

// grower is the kind of the process that has grown most above its average.
func grower(running []regime.Process, before map[int]float64) string {
	kind, most := "", 0.0
	for i := range running {
		if grew := running[i].Used - before[running[i].PID]; grew > most {
			kind, most = running[i].Kind, grew
		}
	}
	return kind
}
