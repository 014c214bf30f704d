package fakedriver

import (
	"slices"
	"time"
)

// Return is a return code of NVML (nvmlReturn_t) or CUDA.
type Return uint64

// The return codes that tests use; any other number works as well.
const (
	Success          Return = 0
	NotSupported     Return = 3
	NoPermission     Return = 4
	InsufficientSize Return = 7
	DriverNotLoaded  Return = 9
	OperatingSystem  Return = 17
	VersionMismatch  Return = 18
	Unknown          Return = 999
)

// Fault is something that goes wrong in a call.
type Fault struct {
	Kind  string // "fault", "hang", "size", "count": the word in the state file
	Call  string // "nvmlDeviceGetPowerUsage"; "nvmlDeviceGetMemoryInfo*" for every name with that prefix
	Value uint64
}

// Faults are the faults of one GPU or, in a State, of every GPU and of calls that name no GPU.
type Faults []Fault

// Fail makes a call answer with a return code.
func (f *Faults) Fail(call string, code Return) {
	*f = append(*f, Fault{"fault", call, uint64(code)})
}

// Hang makes a call hang for this long, or until a state without the fault is written.
func (f *Faults) Hang(call string, duration time.Duration) {
	*f = append(*f, Fault{"hang", call, uint64(duration.Milliseconds())})
}

// ReportSize makes a call that answers INSUFFICIENT_SIZE return this count.
func (f *Faults) ReportSize(call string, count uint64) {
	*f = append(*f, Fault{"size", call, count})
}

// ReportCount makes a successful call return this count, whatever was written.
func (f *Faults) ReportCount(call string, count uint64) {
	*f = append(*f, Fault{"count", call, count})
}

// Heal removes the faults of these calls, or without arguments all faults.
func (f *Faults) Heal(calls ...string) {
	*f = slices.DeleteFunc(slices.Clone(*f), func(fault Fault) bool {
		return len(calls) == 0 || slices.Contains(calls, fault.Call)
	})
}

// Reload reloads the driver: the sessions of programs become uninitialised.
func (s *State) Reload() { s.Driver.Generation++ }
