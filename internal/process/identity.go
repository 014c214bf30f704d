// Package process tells what /proc knows of a process: who it is, whose it
// is, what it runs, which job it belongs to, and what it costs the host. It
// also signals processes, safely: through a pidfd, and only while the
// identity still matches.
package process

import "time"

// Identity is what a process is recognised by. A pid alone is reused; a pid
// with its start time and pid namespace is not.
type Identity struct {
	PID       int    // in the namespace of this /proc; the driver's pid
	StartTime uint64 // clock ticks since boot: field 22 of /proc/PID/stat; 0 where the pid is not in our /proc
	Namespace uint64 // inode of /proc/PID/ns/pid; 0 where it may not be read
}

// Foreign reports whether the process could not be found in our /proc:
// another container's pid, usually. No action is offered on it.
func (id Identity) Foreign() bool { return id.StartTime == 0 }

// Job is the unit a scheduler or container runtime started the process in.
type Job struct {
	Kind string // "slurm", "docker", "podman", "pod", "systemd"; "" when none is known
	ID   string // slurm job number, short container ID, pod host name, unit
}

// String is the form the screen shows: "slurm 88123".
func (j Job) String() string {
	if j.Kind == "" {
		return ""
	}
	return j.Kind + " " + j.ID
}

// Started converts a start time in clock ticks to wall-clock time.
func Started(boot time.Time, ticks uint64) time.Time {
	const ticksPerSecond = 100 // USER_HZ is 100 on every Linux architecture that has an NVIDIA driver
	return boot.Add(time.Duration(ticks) * (time.Second / ticksPerSecond))
}
