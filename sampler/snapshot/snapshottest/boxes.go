package snapshottest

import (
	"strconv"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// DayOne returns the drawn box without probes, forecasts, alerts and ended processes. No GPU is lost.
func DayOne() *snapshot.Snapshot {
	s := DrawnBox()
	s.ProbeSeen, s.Alerts, s.Ended, s.Driver.ProbesAnswering = false, nil, nil, 0
	six := hopper(6, 41.2)
	six.Utilization, six.MemoryUtilization, six.Temperature = whole(88), whole(51), whole(62)
	six.Power, six.SMClock, six.ProcessCount, six.ECC.Uncorrected = float(540), whole(1980), whole(1), count(uint64(0))
	s.GPUs[6] = six
	for i := range s.Rows {
		p := &s.Rows[i]
		if p.GPU == 6 {
			p.Used = gib(41.2)
		}
		p.Runtime, p.RuntimeVersion, p.Allocators, p.Probe = "", "", nil, nil
		p.Allocated, p.Cached, p.Fragmented, p.Returnable, p.Other = snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}
		p.Trend, p.GrowthPerSecond, p.Predicted = snapshot.TrendUnknown, snapshot.Bytes{}, nil
	}
	for i := range s.GPUs {
		gpu := &s.GPUs[i]
		gpu.FullIn, gpu.Predicted = nil, nil
		gpu.Parts = snapshot.Parts{Unknown: gpu.Memory.Used}
		for j := range gpu.Instances {
			gpu.Instances[j].Parts = snapshot.Parts{Unknown: gpu.Instances[j].Memory.Used}
		}
	}
	return s
}

// NoDriver returns the drawn box twelve seconds after its driver went away. Its probes still answer.
func NoDriver() *snapshot.Snapshot {
	s := DrawnBox()
	s.Driver.State, s.Driver.Since = snapshot.DriverGone, Now().Add(-12*time.Second)
	s.Driver.Message, s.Driver.RetryAt = "DRIVER_NOT_LOADED", Now().Add(8*time.Second)
	s.Alerts, s.Ended = nil, nil
	rows := s.Rows[:0]
	for _, p := range s.Rows {
		if p.Probe == nil {
			continue
		}
		p.Used, p.Other, p.Type, p.SMUtilization = snapshot.Bytes{}, snapshot.Bytes{}, "", snapshot.Int{}
		p.Trend, p.GrowthPerSecond, p.Predicted = snapshot.TrendUnknown, snapshot.Bytes{}, nil
		rows = append(rows, p)
	}
	s.Rows = rows
	for i := range s.GPUs {
		gpu := &s.GPUs[i]
		had := gpu.Memory.Used
		lose(gpu, 12*time.Second, 0)
		gpu.LastUsed, gpu.FullIn, gpu.Predicted = had, nil, nil
	}
	return s
}

// SixteenGPUs returns a box with sixteen A100: training on most, a leak on 13, a lost GPU 14, and
// one process without a probe on 15.
func SixteenGPUs() *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Sequence: 90, Time: Now(), Interval: time.Second, ProbeSeen: true, Forecasting: true,
		Host:   snapshot.Host{Name: "a2-mega-1", User: "root", MemoryTotal: gib(1360), MemoryUsed: gib(301), Load: float(33.5)},
		Driver: snapshot.Driver{Version: "550.163.01", CUDAVersion: "12.4", State: snapshot.DriverOK, MemoryCall: "v2", ProbesAnswering: 14},
	}
	// A row each: used, util, temperature, then the parts and the forecast.
	board := []struct {
		used                                float64
		util, temp                          int
		allocated, fragmented, cached, soon float64
	}{
		{32.3, 95, 66, 21.9, 922.0 / 1024, 8.1, 32.7}, {32, 95, 59, 21.7, 922.0 / 1024, 8, 32.4},
		{32.4, 95, 59, 22, 1, 8, 32.8}, {32.2, 99, 64, 22.3, 1.2, 7.3, 32.6},
		{33.3, 97, 64, 22.7, 819.0 / 1024, 8.4, 33.7}, {32.7, 96, 59, 22.1, 1.2, 8, 33.1},
		{31.8, 95, 58, 21.5, 922.0 / 1024, 8, 32.2}, {32.2, 97, 65, 21.7, 1.3, 7.8, 32.6},
		{32.6, 96, 61, 22.6, 1.1, 7.5, 33}, {33.2, 98, 62, 22.2, 1.2, 8.4, 33.6},
		{32.8, 97, 60, 22.7, 922.0 / 1024, 7.8, 33.2}, {32.2, 99, 63, 22, 1.5, 7.3, 32.6},
		{36.4, 12, 49, 33.8, 205.0 / 1024, 512.0 / 1024, 36.4}, {35.9, 98, 66, 27.4, 2.2, 5.1, 36.7},
		{0, -1, -1, 0, 0, 0, 0}, {4.12, 3, 37, 0, 0, 0, 4.12},
	}
	s.GPUs = make([]snapshot.GPU, len(board))
	for i, b := range board {
		s.GPUs[i] = ampere(i, b.used)
		gpu := &s.GPUs[i]
		if b.util < 0 {
			lose(gpu, 2*time.Minute+14*time.Second, 32)
			continue
		}
		gpu.Utilization, gpu.MemoryUtilization, gpu.Temperature = whole(b.util), whole(b.util/2), whole(b.temp)
		gpu.Power, gpu.SMClock = float(350), whole(1410)
		r := row{rowOf(gpu, 412200+i, "alice", "C", b.used, "python", "/home/alice/train.py", "--cfg", "gpt-13b.yaml", "--rank", strconv.Itoa(i))}
		switch i {
		case 12:
			r = row{rowOf(gpu, 398820, "bob", "C", b.used, "python", "/usr/bin/vllm", "serve", "qwen2.5-14b", "--port", "8000")}
		case 13:
			r = row{rowOf(gpu, 419007, "carol", "C", b.used, "python", "finetune.py", "--cfg", "sft.yaml")}
		case 15:
			r = row{rowOf(gpu, 398911, "dora", "C", b.used, "python", "serve.py")}
		}
		trend := snapshot.TrendSawtooth
		switch i {
		case 12, 15:
			trend = snapshot.TrendSteady
		case 13:
			trend = snapshot.TrendLeak
		}
		r = r.heading(trend, b.soon).since(7*time.Hour).costs(b.util, 100, 12)
		if b.allocated > 0 {
			r = r.probed("PyTorch", "2.6.0", b.allocated, b.fragmented, b.cached)
		}
		s.Rows = append(s.Rows, r.Process)
		gpu.Parts = partsOf(s.Rows, gpu.UUID, snapshot.InstanceID{}, gpu.Memory.Used)
	}
	s.GPUs[13].FullIn = &snapshot.FullIn{
		Median: 4*time.Minute + 10*time.Second, Earliest: 3*time.Minute + 10*time.Second, Latest: 5*time.Minute + 40*time.Second,
	}
	lost := row{rowOf(&s.GPUs[14], 412214, "alice", "C", 0, "python", "/home/alice/train.py", "--cfg", "gpt-13b.yaml", "--rank", "14")}
	lost.Used = snapshot.Bytes{}
	s.Rows = append(s.Rows[:14:14], append([]snapshot.Process{lost.Process}, s.Rows[14:]...)...)
	s.Alerts = []snapshot.Alert{
		{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 13, GPUUUID: s.GPUs[13].UUID, Row: RowID(s, 419007),
			Since: Now().Add(-30 * time.Second), Note: "full in 4m10s (3m–6m)", Message: "GPU 13 full in 4m10s (3m–6m)"},
		{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPU: 14, GPUUUID: s.GPUs[14].UUID,
			Since: s.GPUs[14].Since, Note: "lost", Message: "lost since 12:02:03"},
	}
	return s
}

// ampere returns an A100 of 40 GB.
func ampere(index int, used float64) snapshot.GPU {
	return snapshot.GPU{
		Index: index, UUID: "GPU-a2a2a2a2-0000-4000-8000-0000000000" + strconv.Itoa(10+index), Name: "NVIDIA A100-SXM4-40GB",
		State: snapshot.GPUOK, LastUsed: gib(used), ProcessCount: whole(1),
		Memory:  snapshot.Memory{Total: gib(40), Used: gib(used), Free: gib(39.4 - used), Reserved: gib(0.6)},
		Sensors: metric.Sensors{TemperatureSlowdown: whole(92), PowerLimit: float(400)},
		ECC:     metric.ECC{Enabled: count(true), Corrected: count(uint64(0)), Uncorrected: count(uint64(0))},
	}
}

// Crowded returns a box with the given numbers of GPUs and of processes on each, for benchmarks and
// for scrolling.
func Crowded(gpus, processes int) *snapshot.Snapshot {
	s := DrawnBox()
	s.GPUs, s.Rows, s.Ended, s.Alerts = nil, nil, nil, nil
	for i := range gpus {
		gpu := hopper(i, 70)
		gpu.UUID = "GPU-c0c0c0c0-0000-4000-8000-0000000" + strconv.Itoa(10000+i)
		gpu.Utilization, gpu.Temperature, gpu.Power, gpu.SMClock = whole(i*7%100), whole(40+i), float(300), whole(1980)
		gpu.ProcessCount = whole(processes)
		s.GPUs = append(s.GPUs, gpu)
		for j := range processes {
			used := 70 / float64(processes)
			r := row{rowOf(&gpu, 100000+i*1000+j, []string{"alice", "bob", "carol"}[j%3], "C", used,
				"/opt/conda/bin/python3.11", "/home/alice/train.py", "--cfg", "llama-7b.yaml", "--rank", strconv.Itoa(j))}
			r = r.probed("PyTorch", "2.6.0", used*0.7, used*0.1, used*0.1).since(time.Duration(j+1)*time.Hour).
				costs(j, 90, 3).heading(snapshot.TrendSawtooth, used*1.1).job("slurm", strconv.Itoa(88000+j))
			s.Rows = append(s.Rows, r.Process)
		}
		s.GPUs[i].Parts = partsOf(s.Rows[len(s.Rows)-processes:], gpu.UUID, snapshot.InstanceID{}, gpu.Memory.Used)
	}
	return s
}

// Hostile sets texts on the screen to text: users, names, commands, jobs, profiles, alerts and others.
func Hostile(s *snapshot.Snapshot, text string) *snapshot.Snapshot {
	s.Host.Name, s.Host.User, s.Driver.Version, s.Driver.Message = text, text, text, text
	for i := range s.Rows {
		p := &s.Rows[i]
		p.User, p.Name, p.Runtime, p.Type = text, text, text, text
		p.Command, p.Job = []string{text, text}, process.Job{Kind: text, ID: text}
	}
	for i := range s.Ended {
		s.Ended[i].Last.User, s.Ended[i].Last.Command = text, []string{text}
	}
	for i := range s.GPUs {
		gpu := &s.GPUs[i]
		gpu.Name, gpu.Message = text, text
		gpu.Throttled = []string{text}
		for j := range gpu.Instances {
			gpu.Instances[j].Profile = text
		}
	}
	for i := range s.Alerts {
		s.Alerts[i].Note, s.Alerts[i].Message, s.Alerts[i].Advice = text, text, text
	}
	return s
}

// OneSample returns the drawn box without alerts, ended processes and forecasts.
func OneSample() *snapshot.Snapshot {
	snap := DrawnBox()
	snap.Alerts, snap.Ended = nil, nil
	for i := range snap.GPUs {
		snap.GPUs[i].FullIn, snap.GPUs[i].Predicted = nil, nil
	}
	for i := range snap.Rows {
		snap.Rows[i].Predicted = nil
	}
	return snap
}

// Room returns a box with a GPU with a capacity of 79 GiB, and a process with a probe. free is the
// GPU's free memory, returns the returnable memory of the process.
func Room(free, returns quantity.Bytes) *snapshot.Snapshot {
	snap := &snapshot.Snapshot{Host: snapshot.Host{Name: "h100-03", User: "alice"}, Driver: snapshot.Driver{State: snapshot.DriverOK}}
	snap.GPUs = []snapshot.GPU{{
		Index: 0, UUID: "GPU-0", Name: "NVIDIA H100 80GB HBM3", State: snapshot.GPUOK,
		Memory: snapshot.Memory{Total: count(80 * quantity.GiB), Used: count(79*quantity.GiB - free), Free: count(free), Reserved: count(quantity.GiB)},
	}}
	snap.Rows = []snapshot.Process{{
		ID:   snapshot.RowID{Process: process.Identity{PID: 100, StartTime: 1, Namespace: 1}, GPUUUID: "GPU-0"},
		User: "bob", Used: count(30 * quantity.GiB), Allocated: count(5 * quantity.GiB), Cached: count(returns), Returnable: count(returns),
		Probe: &snapshot.Probe{State: snapshot.ProbeLive},
	}}
	return snap
}
