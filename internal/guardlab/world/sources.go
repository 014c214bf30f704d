package world

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler"
)

// UUID is the GPU's UUID.
const UUID = "GPU-00000000-0000-0000-0000-000000000000"

// UID is the user of all jobs: one user, because some limits are per user.
const UID = 1

// epoch is when a World begins.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// NewSampler returns a sampler like the monitor's that reads this World. Tick it with Time.
func (w *World) NewSampler() *sampler.Sampler {
	return sampler.New(sampler.Options{
		Devices: sources{w}, Probes: sources{w}, Processes: sources{w},
		Deadline: time.Hour, OpenDeadline: time.Hour, // real time, so no answer is late
		Interval: Tick, Clock: w.Time, Simulated: true,
	})
}

// Time returns the simulated time.
func (w *World) Time() time.Time { return epoch.Add(w.now) }

// sources are the driver, the probes and /proc.
type sources struct{ *World }

func (w sources) device() nvml.Device { return nvml.Device{UUID: UUID, Name: "simulated"} }

func (w sources) Open() (nvml.Driver, []nvml.Device, error) {
	return nvml.Driver{Version: "simulated"}, []nvml.Device{w.device()}, nil
}

func (sources) Close() error { return nil }

func (w sources) Read(device nvml.Device) (nvml.Reading, error) {
	r := nvml.Reading{Device: device, Time: w.Time(), Memory: nvml.Memory{
		Total: driver(w.Total), Used: driver(w.used), Free: driver(w.Capacity() - w.used), Reserved: driver(w.Reserved),
	}}
	for _, j := range w.Jobs {
		if j.context == 0 {
			continue
		}
		busy := 0
		if !j.idle {
			const computing = 97
			busy = computing
		}
		if !r.Utilization.Known() || busy > 0 {
			r.Utilization = driver(busy)
		}
		r.Processes = append(r.Processes, nvml.Process{
			PID: j.identity.PID, Type: nvml.Compute, Used: driver(j.Used()), SMUtilization: driver(busy),
		})
	}
	return r, nil
}

func (w sources) Processes(_ time.Time, pids []int, found func(*process.Info)) {
	for _, pid := range pids {
		if j := w.running(pid); j != nil {
			found(&process.Info{
				Identity: j.identity, UID: quantity.From(uint32(UID), quantity.System),
				User: j.Name, Name: "python3", Command: []string{"python3", j.Name + ".py"}, Started: epoch.Add(j.started),
			})
		}
	}
}

func (w sources) Alive(id process.Identity) bool {
	j := w.running(id.PID)
	return j != nil && j.identity == id
}

func (sources) Host(time.Time) process.Host { return process.Host{Name: "simulated", User: "root"} }

func (sources) Unasked() int { return 0 }

// Answers returns the reports of all probes at this moment, and the records younger than recordTime.
func (w sources) Answers() []probe.Answer {
	var answers []probe.Answer
	for _, j := range w.Jobs {
		if j.context > 0 {
			answers = append(answers, j.answer())
		}
	}
	for _, r := range w.records {
		if w.now-r.at < recordTime {
			answers = append(answers, r.answer)
		}
	}
	return answers
}

// recordTime is for how long Answers includes the record of an ended process.
const recordTime = 5 * time.Second

// record is the last report of the probe of an ended process.
type record struct {
	at     time.Duration
	answer probe.Answer
}

// noteFailed keeps the failed allocation for the report of the job's probe.
func (j *Job) noteFailed() {
	if j.context == 0 {
		return // the job has no probe yet
	}
	free, s := j.world.Capacity()-j.world.used, j.stats()
	kind := "pytorch"
	if j.Region > 0 {
		kind = "jax"
	}
	j.failed = []probe.FailedAllocation{{
		TimeNS: j.world.Time().UnixNano(), Bytes: j.asked, Free: reported(free), Allocator: kind, Reserved: reported(s.Reserved), Allocated: reported(s.Allocated),
	}}
}

// leaveRecord keeps the last report of the probe of a job that ends.
func (j *Job) leaveRecord() {
	a := j.answer()
	a.Exited = &process.Info{Identity: j.identity, UID: quantity.From(uint32(UID), quantity.System), User: j.Name, Command: []string{"python3", j.Name + ".py"}}
	j.world.records = append(j.world.records, record{j.world.now, a})
}

func reported(b quantity.Bytes) quantity.Optional[quantity.Bytes] {
	return quantity.From(b, quantity.Probe)
}

func (j *Job) answer() probe.Answer {
	s, at, total := j.stats(), j.world.Time(), j.world.Total
	count := func(n int) quantity.Optional[int64] { return quantity.From(int64(n), quantity.Probe) }
	a := probe.Allocator{
		Reserved: reported(s.Reserved), Allocated: reported(s.Allocated), Cached: reported(s.Cached), Fragmented: reported(s.Fragmented),
		Returnable: reported(s.Returnable), LargestFree: reported(s.LargestFree),
		PeakAllocated: reported(s.PeakAllocated), PeakReserved: reported(s.PeakReserved),
	}
	hello := probe.Hello{Proto: probe.Version, PID: j.identity.PID, StartTime: j.identity.StartTime, StartedBy: "run"}
	if j.Region > 0 {
		a.Kind, a.Basis = "jax", probe.LargestFree
		hello.Runtimes = []probe.Runtime{{Name: "JAX"}}
	} else {
		a.Kind, a.Basis = "pytorch", probe.Stranded
		a.Pending, a.Blocks, a.Segments, a.StrandedSegments = reported(s.Pending), count(s.Blocks), count(s.Segments), count(s.Stranded)
		a.OutOfMemoryCount, a.AllocRetries = count(s.OutOfMemory), count(s.Retries)
		hello.Runtimes, hello.Capabilities = []probe.Runtime{{Name: "PyTorch"}}, []string{"flush"}
	}
	return probe.Answer{
		Process: j.identity, Hello: hello, Since: epoch.Add(j.started), At: at,
		Report: probe.Report{TimeNS: at.UnixNano(), Devices: []probe.Device{{UUID: UUID, Total: reported(total), Allocators: []probe.Allocator{a}, OutOfMemory: j.failed}}},
	}
}

// running returns the process with a pid, nil if there is none.
func (w *World) running(pid int) *Job {
	for _, j := range w.Jobs {
		if j.Running() && j.identity.PID == pid {
			return j
		}
	}
	return nil
}

func driver[T any](v T) quantity.Optional[T] { return quantity.From(v, quantity.Driver) }
