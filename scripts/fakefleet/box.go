package main

import (
	"fmt"
	"math"
	"time"

	"vramscope/forecast"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The hardware of every box.
const (
	totalMemory    = 81559 * quantity.MiB // what an H100 with 80 GB reports
	reservedMemory = 551 * quantity.MiB
	capacity       = totalMemory - reservedMemory
)

var users = [...]string{"alice", "bob", "carol", "dave", "erin", "frank", "gina", "hal", "ivy", "judy"}

// job is what a GPU is used for.
type job struct {
	program string
	runtime string // "" if there is no probe
	// Shares of the capacity, 0 to 1, at a moment of the job's course, 0 to 1.
	allocated, fragmented, cached func(course float64) float64
	utilization                   int
}

func steady(share float64) func(float64) float64 { return func(float64) float64 { return share } }

// sawtooth goes from low to high eight times during a job's course, and jumps back each time. high may
// be less than low.
func sawtooth(low, high float64) func(float64) float64 {
	return func(course float64) float64 { _, part := math.Modf(course * 8); return low + (high-low)*part }
}

var jobs = [...]job{
	{"train.py", "PyTorch", sawtooth(.45, .62), steady(.04), sawtooth(.22, .05), 97},
	{"pretrain.py", "PyTorch", sawtooth(.60, .72), steady(.02), sawtooth(.16, .04), 99},
	{"vllm", "PyTorch", steady(.88), steady(.004), steady(.008), 64},
	{"t5x/train.py", "JAX", steady(.30), steady(.05), steady(.40), 71},
	{"finetune.py", "PyTorch", sawtooth(.30, .41), steady(.08), sawtooth(.18, .07), 88},
	{"eval.py", "", sawtooth(.20, .35), nil, nil, 35},
	{"notebook", "", steady(.24), nil, nil, 0},
}

// leak fills the GPU within half an hour, and then starts again.
var leak = job{"dlrm.py", "PyTorch", func(course float64) float64 { return .30 + .68*course }, steady(.01), steady(.008), 93}

const leakTime = 30 * time.Minute

// mix spreads numbers, so that neighbouring numbers give different results: the finalizer of SplitMix64.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// boxAt returns a simulated box at a moment. Its jobs are as they would be at now plus ahead.
func boxAt(number, gpus int, now time.Time, ahead time.Duration) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Sequence: uint64(now.Unix()), Time: now, Interval: time.Second, Simulated: true, ProbeSeen: true,
		Host:   snapshot.Host{Name: boxName(number)},
		Driver: snapshot.Driver{Version: "550.163.01", CUDAVersion: "12.4", State: snapshot.DriverOK},
	}
	for index := range gpus {
		gpu, rows := gpuAt(number, index, now.Add(ahead))
		s.GPUs = append(s.GPUs, gpu)
		s.Rows = append(s.Rows, rows...)
		s.Alerts = append(s.Alerts, alertsOf(&gpu, now)...)
	}
	s.Driver.ProbesAnswering = len(s.Rows)
	return s
}

func boxName(number int) string { return fmt.Sprintf("box-%04d", number) }

func known[T any](v T) quantity.Optional[T] { return quantity.From(v, quantity.Driver) }

func gpuAt(number, index int, now time.Time) (snapshot.GPU, []snapshot.Process) {
	seed := mix(uint64(number)<<8 | uint64(index))
	g := snapshot.GPU{
		Index: index, UUID: fmt.Sprintf("GPU-%08x-%04x-4000-8000-%012x", uint32(seed), number&0xffff, number<<8|index),
		Name: "NVIDIA H100 80GB HBM3", PCIBusID: fmt.Sprintf("00000000:%02X:00.0", 0x19+index*0x11&0xff), State: snapshot.GPUOK, Since: now,
	}
	if number%53 == 7 && index == 6 {
		g.State, g.Message = snapshot.GPULost, "GPU is lost"
		return g, nil
	}
	busy, course, filling := jobs[seed%uint64(len(jobs))], courseOf(seed, now, 20*time.Minute), false
	if number%97 == 3 && index == 3 {
		busy, filling = leak, true
		course = courseOf(seed, now, leakTime)
	}
	empty := seed%11 == 0 && !filling
	used := quantity.Bytes(0)
	var rows []snapshot.Process
	if !empty {
		row := processAt(seed, &g, &busy, course)
		rows, used = append(rows, row), row.Used.Or(0)
	}
	g.Memory = snapshot.Memory{Total: known(totalMemory), Used: known(used), Free: known(capacity - used), Reserved: known(reservedMemory)}
	g.Parts = snapshot.PartsOf(g.Memory.Used, rows, func(*snapshot.Process) bool { return true })
	g.ProcessCount = quantity.From(len(rows), quantity.Computed)
	utilization := 0
	if !empty && busy.utilization > 0 {
		utilization = max(min(busy.utilization+int(mix(seed^uint64(now.Unix()))%7)-3, 100), 0)
	}
	g.Sensors = metric.Sensors{
		Utilization: known(utilization), MemoryUtilization: known(utilization / 2),
		Temperature: known(34 + utilization*36/100), TemperatureSlowdown: known(87),
		Power: known(90 + 5.6*float64(utilization)), PowerLimit: known(700.0),
		SMClock: known(1980), MemoryClock: known(2619), PerformanceState: known(0),
	}
	for _, horizon := range forecast.Horizons {
		change := quantity.Bytes(0)
		if filling {
			change = quantity.Bytes(float64(horizon) / float64(leakTime) * .68 * float64(capacity))
		}
		g.Predicted = append(g.Predicted, snapshot.Prediction{Horizon: horizon, Median: min(used+change, capacity)})
	}
	if filling {
		left := time.Duration(float64(capacity-used) / (.68 * float64(capacity)) * float64(leakTime))
		if left < 15*time.Minute {
			g.FullIn = &snapshot.FullIn{Median: left, Earliest: left * 8 / 10, Latest: left * 13 / 10}
		}
	}
	return g, rows
}

// courseOf returns how much of its course a job of this length has run, from 0 to 1.
func courseOf(seed uint64, now time.Time, length time.Duration) float64 {
	at := time.Duration(now.UnixNano()) + time.Duration(seed%uint64(length))
	return float64(at%length) / float64(length)
}

// contextMemory is what CUDA itself takes in a process.
const contextMemory = 520 * quantity.MiB

func processAt(seed uint64, g *snapshot.GPU, j *job, course float64) snapshot.Process {
	part := func(share func(float64) float64) quantity.Bytes {
		return quantity.Bytes(share(course) * float64(capacity-contextMemory))
	}
	p := snapshot.Process{
		ID:  snapshot.RowID{Process: process.Identity{PID: 1000 + int(seed%4000000), StartTime: 1 + seed%1000, Namespace: 1}, GPUUUID: g.UUID},
		GPU: g.Index, User: users[seed>>8%uint64(len(users))], Name: j.program, Command: []string{j.program}, Type: "C",
		Job: process.Job{Kind: "slurm", ID: fmt.Sprint(40000 + seed>>16%2000)},
	}
	allocated := part(j.allocated)
	if j.runtime == "" {
		p.Used = known(allocated + contextMemory)
		return p
	}
	reported := func(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Probe) }
	fragmented, cached := part(j.fragmented), part(j.cached)
	p.Runtime, p.Probe = j.runtime, &snapshot.Probe{State: snapshot.ProbeLive}
	p.Allocated, p.Fragmented, p.Cached, p.Returnable = reported(allocated), reported(fragmented), reported(cached), reported(cached)
	if j.runtime == "JAX" {
		p.Returnable = reported(0)
	}
	p.Used = known(allocated + fragmented + cached + contextMemory)
	p.Other = quantity.From(contextMemory, quantity.Computed)
	return p
}

func alertsOf(g *snapshot.GPU, now time.Time) []snapshot.Alert {
	a := snapshot.Alert{GPU: g.Index, GPUUUID: g.UUID, Since: now}
	switch {
	case g.State == snapshot.GPULost:
		a.Kind, a.Message = snapshot.AlertLost, "lost"
	case g.FullIn != nil:
		a.Kind, a.Severity, a.Message = snapshot.AlertFullIn, snapshot.Urgent, "will be full"
	default:
		return nil
	}
	return []snapshot.Alert{a}
}
