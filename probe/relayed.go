package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
)

// Relayed is a probe's report as a daemon passes it on to other users' monitors: numbers, and names
// that many programs share, but no addresses and no texts that the program chose. It has no
// capabilities, because other users may not act on the process.
type Relayed struct {
	PID       int       `json:"pid"`
	StartTime uint64    `json:"start_time_ticks"`
	Namespace uint64    `json:"pid_namespace"`
	TimeNS    int64     `json:"time_ns"` // of the reading
	Runtimes  []Runtime `json:"runtimes"`
	Devices   []Device  `json:"devices"`
}

// Relay returns what other users may read of the answers. It leaves out answers without a report,
// and processes that are foreign or have exited.
func Relay(answers []Answer) []Relayed {
	relayed := make([]Relayed, 0, len(answers))
	for i := range answers {
		a := &answers[i]
		if a.At.IsZero() || a.Process.Foreign() || a.Exited != nil {
			continue
		}
		r := Relayed{
			PID: a.Process.PID, StartTime: a.Process.StartTime, Namespace: a.Process.Namespace, TimeNS: a.At.UnixNano(),
			Runtimes: []Runtime{}, Devices: []Device{},
		}
		for _, runtime := range a.Hello.Runtimes {
			r.Runtimes = append(r.Runtimes, Runtime{Name: CommonRuntime(runtime.Name), Version: Release(runtime.Version)})
		}
		for j := range a.Report.Devices {
			r.Devices = append(r.Devices, numbersOf(&a.Report.Devices[j]))
		}
		relayed = append(relayed, r)
	}
	return relayed
}

func numbersOf(d *Device) Device {
	out := Device{UUID: d.UUID, Total: d.Total, Allocators: []Allocator{}, Rescues: d.Rescues}
	for i := range d.Allocators {
		out.Allocators = append(out.Allocators, NumbersOf(&d.Allocators[i]))
	}
	for i := range d.OutOfMemory {
		f := &d.OutOfMemory[i]
		out.OutOfMemory = append(out.OutOfMemory, FailedAllocation{
			TimeNS: f.TimeNS, Bytes: f.Bytes, Free: f.Free, Limit: f.Limit, Allocator: CommonKind(f.Allocator),
			Reserved: f.Reserved, Allocated: f.Allocated, LargestFree: f.LargestFree,
		})
	}
	return out
}

// NumbersOf returns what other users may see of an allocator: only the fields that are copied here.
func NumbersOf(a *Allocator) Allocator {
	out := Allocator{
		Kind: CommonKind(a.Kind), Basis: a.Basis, ReturnableBound: a.ReturnableBound, Reserved: a.Reserved, Allocated: a.Allocated,
		Cached: a.Cached, Fragmented: a.Fragmented, Asleep: a.Asleep, Managed: a.Managed, Returnable: a.Returnable, Pending: a.Pending,
		LargestFree: a.LargestFree, Segments: a.Segments, OutOfMemoryCount: a.OutOfMemoryCount, AllocRetries: a.AllocRetries,
		FailedAllocations: a.FailedAllocations, PeakAllocated: a.PeakAllocated, PeakReserved: a.PeakReserved, Blocks: a.Blocks,
		StrandedSegments: a.StrandedSegments,
	}
	for _, p := range a.Pools {
		p.Name = common(p.Name, "small", "large")
		out.Pools = append(out.Pools, p)
	}
	return out
}

// CommonKind returns the kind of an allocator if vramscope's own probes use it, otherwise "other": a
// program may have chosen the kind.
func CommonKind(kind string) string {
	return common(kind, "pytorch", "cuda_pool", "cuda_graph", "cupy", "rmm", "jax", "tensorflow", "raw")
}

// CommonRuntime returns the name of a runtime if vramscope's own probes use it, otherwise "other".
func CommonRuntime(name string) string {
	return common(name, "PyTorch", "CuPy", "RMM", "JAX", "TensorFlow", "CUDA")
}

func common(name string, known ...string) string {
	if name == "" || slices.Contains(known, name) {
		return name
	}
	return "other"
}

// Release returns the number that a version begins with, clipped: "2.6.0" of "2.6.0+bob.secret".
func Release(version string) string {
	end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(version)
	}
	return version[:min(end, longestRelease)]
}

const longestRelease = 16

// Answer returns the answer that a daemon has passed on, after the checks that a Monitor makes of a
// probe's own answer.
func (r *Relayed) Answer(now time.Time) (Answer, error) {
	id := process.Identity{PID: r.PID, StartTime: r.StartTime, Namespace: r.Namespace}
	if r.PID <= 0 || id.Foreign() {
		return Answer{}, fmt.Errorf("probe: relayed: PID %d, start time %d", r.PID, r.StartTime)
	}
	report := Report{TimeNS: r.TimeNS, Devices: r.Devices}
	err := report.check()
	if err == nil {
		err = report.checkTimes(now, r.StartTime)
	}
	hello := Hello{Proto: Version, PID: r.PID, StartTime: r.StartTime, Runtimes: r.Runtimes}
	if err == nil {
		err = hello.check(r.PID, r.StartTime)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("probe: relayed: PID %d: %w", r.PID, err)
	}
	at := readAt(now, r.TimeNS)
	return Answer{Process: id, Hello: hello, Report: report, Since: at, At: at, Arrived: now, Daemon: true}, nil
}
