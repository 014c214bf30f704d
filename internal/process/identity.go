package process

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/quantity"
)

// Identity identifies a process. A pid alone is reused; a pid with its start time
// and pid namespace is not.
type Identity struct {
	PID       int    // in the namespace of this /proc; the driver's pid
	StartTime uint64 // clock ticks since boot: field 22 of /proc/PID/stat; 0 if the pid is not in our /proc
	Namespace uint64 // inode of /proc/PID/ns/pid; 0 if it may not be read
}

// Key is an identity without the pid namespace, which one of two readers may not know.
type Key struct {
	pid   int
	start uint64
}

func (id Identity) Key() Key { return Key{id.PID, id.StartTime} }

// Foreign reports whether the process is missing from this /proc: it is another
// container's, or Hidden. No action on it is possible.
func (id Identity) Foreign() bool { return id.StartTime == 0 }

// Hidden reports whether the process is in this pid namespace and not in this /proc, because /proc is
// mounted with hidepid. Source: https://docs.kernel.org/filesystems/proc.html, section 4.
func (id Identity) Hidden() bool { return id.Foreign() && id.Namespace != 0 }

// Whose returns in words to whom a foreign process belongs.
func (id Identity) Whose() string {
	if id.Hidden() {
		return "another user's process, hidden (hidepid)"
	}
	return "another container's process"
}

// Same reports whether two identities belong to one process. A namespace that could not be read
// equals any other.
func (id Identity) Same(other Identity) bool {
	if id.PID != other.PID || id.StartTime != other.StartTime {
		return false
	}
	return id.Namespace == other.Namespace || id.Namespace == 0 || other.Namespace == 0
}

// Job is the unit a scheduler or container runtime started the process in.
type Job struct {
	Kind string // "slurm", "pbs", "lsf", "oar", "htcondor", "pod", "ecs", "nomad", "docker", "podman", "containerd", "lxc", "apptainer", "service"; "" if none is known
	ID   string // a job's number or slot, a pod's host name, a task, an allocation's or container's short ID, a container's name, an image, a unit

	Step      string // of a Slurm job: "0", "batch", "interactive"
	Namespace string // of a pod
	Container string // in a pod its short ID, in a Slurm job Apptainer's image
	Account   string // of a Slurm job
}

// Details returns the other facts known about a job: "step 0".
func (j Job) Details() []string {
	var details []string
	for _, part := range []struct{ name, value string }{{"step", j.Step}, {"namespace", j.Namespace}, {"container", j.Container}, {"account", j.Account}} {
		if part.value != "" {
			details = append(details, part.name+" "+part.value)
		}
	}
	return details
}

// String returns the form the screen shows: "slurm 88123".
func (j Job) String() string {
	if j.Kind == "" {
		return ""
	}
	return j.Kind + " " + j.ID
}

// Info is a process at one moment. What cannot be read is empty or unknown.
type Info struct {
	Identity Identity
	Parent   int
	UID      quantity.Optional[uint32]
	User     string // "" while unknown
	Name     string // comm
	Command  []string
	Started  time.Time
	Ended    bool // a zombie
	Job      Job
	Hints    Hints
	CPU      quantity.Optional[float64]        // per cent of one core, between the last two measurements
	Memory   quantity.Optional[quantity.Bytes] // resident
}

// Host is the machine, from /proc and uname.
type Host struct {
	Name        string
	User        string // who runs vramscope
	MemoryTotal quantity.Optional[quantity.Bytes]
	MemoryUsed  quantity.Optional[quantity.Bytes]
	Load        quantity.Optional[float64] // one-minute average
}

// ticksPerSecond is USER_HZ, 100 on every Linux architecture that has an NVIDIA driver.
const ticksPerSecond = 100

// SinceBoot converts a start time from clock ticks.
func SinceBoot(ticks uint64) time.Duration {
	return time.Duration(ticks) * (time.Second / ticksPerSecond)
}

// Ticks returns the present time in the unit of Identity.StartTime: no process that has started
// by now has a later start time.
func Ticks() uint64 {
	var sinceBoot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot); err != nil {
		return math.MaxUint64
	}
	return uint64(sinceBoot.Nano()) / (uint64(time.Second) / ticksPerSecond)
}
