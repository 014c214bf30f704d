package probe

import (
	"fmt"
	"slices"
	"time"

	"vramscope/internal/process"
)

// Relayed is what a process's probe reported, as a daemon passes it on to the
// monitors of other users: numbers alone. It has no configuration, no library, no
// cache of the program's, and no capability: only the process's own user acts on it.
type Relayed struct {
	PID       int       `json:"pid"`
	StartTime uint64    `json:"start_time_ticks"`
	Namespace uint64    `json:"pid_namespace"`
	TimeNS    int64     `json:"time_ns"` // of the reading
	Runtimes  []Runtime `json:"runtimes"`
	Devices   []Device  `json:"devices"`
}

// Relay makes the answers fit for others. Probes that have not reported are left out.
func Relay(answers []Answer) []Relayed {
	relayed := make([]Relayed, 0, len(answers))
	for i := range answers {
		a := &answers[i]
		if a.At.IsZero() || a.Process.Foreign() {
			continue
		}
		r := Relayed{
			PID: a.Process.PID, StartTime: a.Process.StartTime, Namespace: a.Process.Namespace, TimeNS: a.At.UnixNano(),
			Runtimes: a.Hello.Runtimes, Devices: slices.Clone(a.Report.Devices),
		}
		for j := range r.Devices {
			r.Devices[j].Allocators = numbersOf(r.Devices[j].Allocators)
		}
		relayed = append(relayed, r)
	}
	return relayed
}

func numbersOf(allocators []Allocator) []Allocator {
	numbers := slices.Clone(allocators)
	for i := range numbers {
		numbers[i].Config, numbers[i].Largest = "", nil
	}
	return numbers
}

// Answer checks what a daemon has passed on as the monitor checks a probe's own
// answer.
func (r *Relayed) Answer(now time.Time) (Answer, error) {
	id := process.Identity{PID: r.PID, StartTime: r.StartTime, Namespace: r.Namespace}
	if r.PID <= 0 || id.Foreign() {
		return Answer{}, fmt.Errorf("probe: relayed: PID %d, start time %d", r.PID, r.StartTime)
	}
	report := Report{TimeNS: r.TimeNS, Devices: r.Devices}
	err := report.check()
	if err == nil {
		err = checkTime(now, r.TimeNS, r.StartTime)
	}
	hello := Hello{Proto: Version, PID: r.PID, StartTime: r.StartTime, Runtimes: r.Runtimes}
	if err == nil {
		err = hello.check(r.PID, r.StartTime)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("probe: relayed: PID %d: %w", r.PID, err)
	}
	at := readAt(now, r.TimeNS)
	return Answer{Process: id, Hello: hello, Report: report, Since: at, At: at, Daemon: true}, nil
}
