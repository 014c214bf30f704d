package snapshot

import (
	"fmt"
	"strings"
	"time"
)

// Incident is an event that stays on the screen until a user has seen it, even after its cause has
// gone: an out-of-memory error, a lost GPU, a killed process, a rule of the guard that was turned off.
type Incident struct {
	Event
	Words string // "out of memory"
}

// HostMemoryEnded is part of the message about an ended process in whose cgroup the kernel has killed
// a process because host memory ran out.
const HostMemoryEnded = "its cgroup ran out of host memory"

// IncidentOf makes the incident of an event. It returns false if the event is not an incident.
func IncidentOf(e Event) (Incident, bool) {
	switch {
	case e.Kind == EventOutOfMemory:
		return Incident{e, "out of memory"}, true
	case e.Kind == EventGPULost && !strings.HasPrefix(e.Message, string(GPUHanging)):
		return Incident{e, "lost"}, true
	case e.Kind == EventEnded && e.Severity == Urgent && strings.Contains(e.Message, HostMemoryEnded):
		return Incident{e, "out of host memory"}, true
	case e.Kind == EventEnded && e.Severity == Urgent:
		return Incident{e, "killed"}, true
	case e.Decision != nil && e.Decision.Kind == GuardTripped:
		return Incident{e, "guard rule off"}, true
	default:
		return Incident{}, false
	}
}

// Key returns the same key for all incidents of one kind that concern the same process, GPU or
// rule. If a user has seen the newest, all incidents with its key count as seen.
func (i *Incident) Key() string {
	rule, gpu := "", i.GPUUUID
	if i.Decision != nil {
		rule = " " + i.Decision.Rule
	}
	if i.Kind == EventEnded { // a process ends on all of its GPUs at once
		gpu = ""
	}
	return fmt.Sprintf("%s %s %d.%d%s", i.Kind, gpu, i.Row.Process.PID, i.Row.Process.StartTime, rule)
}

// About reports whether an alert is about the incident.
func (i *Incident) About(a *Alert) bool {
	switch a.Kind {
	case AlertOutOfMemory:
		return i.Kind == EventOutOfMemory && i.Row == a.Row
	case AlertLost:
		return i.Kind == EventGPULost && i.GPUUUID == a.GPUUUID
	default:
		return false
	}
}

// IncidentTime is how long an incident that no user has seen stays on the screen.
const IncidentTime = 24 * time.Hour
