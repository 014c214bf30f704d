package fakedriver

import "time"

// Return is a return code of NVML, nvmlReturn_t.
type Return uint64

// The return codes that tests use; any other number works as well.
const (
	Success                 Return = 0
	Uninitialized           Return = 1
	InvalidArgument         Return = 2
	NotSupported            Return = 3
	NoPermission            Return = 4
	NotFound                Return = 6
	InsufficientSize        Return = 7
	DriverNotLoaded         Return = 9
	Timeout                 Return = 10
	GPUIsLost               Return = 15
	ResetRequired           Return = 16
	OperatingSystem         Return = 17
	VersionMismatch         Return = 18
	ArgumentVersionMismatch Return = 25
	Unknown                 Return = 999
)

// Fault is something that goes wrong in a call. Fail, Hang, ReportSize and
// ReportCount make one, of a State for every GPU or of a GPU.
type Fault struct {
	Kind  string // "fault", "hang", "size", "count": the word in the state file
	Call  string // "nvmlDeviceGetPowerUsage"; "nvmlDeviceGetMemoryInfo*" for every name that begins so
	Value uint64
}

// Fail makes a call answer with a return code.
func (g *GPU) Fail(call string, code Return) {
	g.Faults = append(g.Faults, Fault{"fault", call, uint64(code)})
}

// Hang makes a call take so long, or until a state without the fault is written.
func (g *GPU) Hang(call string, duration time.Duration) {
	g.Faults = append(g.Faults, Fault{"hang", call, uint64(duration.Milliseconds())})
}

// ReportSize makes INSUFFICIENT_SIZE of a call come with this count.
func (g *GPU) ReportSize(call string, count uint64) {
	g.Faults = append(g.Faults, Fault{"size", call, count})
}

// ReportCount makes SUCCESS of a call come with this count, whatever was written.
func (g *GPU) ReportCount(call string, count uint64) {
	g.Faults = append(g.Faults, Fault{"count", call, count})
}

// Heal removes the GPU's own faults.
func (g *GPU) Heal(calls ...string) { g.Faults = healed(g.Faults, calls) }

// Fail makes a call answer with a return code, on every GPU.
func (s *State) Fail(call string, code Return) {
	s.Faults = append(s.Faults, Fault{"fault", call, uint64(code)})
}

// Hang makes a call take so long, on every GPU.
func (s *State) Hang(call string, duration time.Duration) {
	s.Faults = append(s.Faults, Fault{"hang", call, uint64(duration.Milliseconds())})
}

// Heal removes the faults of every GPU.
func (s *State) Heal(calls ...string) { s.Faults = healed(s.Faults, calls) }

// Reload reloads the driver: programs that have it open become uninitialised.
func (s *State) Reload() { s.Driver.Generation++ }

func healed(faults []Fault, calls []string) []Fault {
	var left []Fault
	for _, fault := range faults {
		healed := len(calls) == 0
		for _, call := range calls {
			healed = healed || fault.Call == call
		}
		if !healed {
			left = append(left, fault)
		}
	}
	return left
}
