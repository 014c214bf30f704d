package socket

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// Share is who, besides root and the daemon's user, may read numbers. The kernel
// enforces it: it is the mode and the group of the socket.
type Share struct {
	mode  os.FileMode
	group int // -1: the daemon's own
}

// ParseShare reads "none", "all" or "group:NAME".
func ParseShare(value string) (Share, error) {
	switch value {
	case "", "none":
		return Share{0o600, -1}, nil
	case "all":
		return Share{0o666, -1}, nil
	}
	name, named := strings.CutPrefix(value, "group:")
	if !named {
		return Share{}, fmt.Errorf("share: %q is neither none, nor all, nor group:NAME", value)
	}
	found, err := user.LookupGroup(name)
	if err != nil {
		return Share{}, fmt.Errorf("share: there is no group %q: %w", name, err)
	}
	id, err := strconv.Atoi(found.Gid)
	if err != nil {
		return Share{}, fmt.Errorf("share: group %q: %w", name, err)
	}
	return Share{0o660, id}, nil
}

// apply opens the socket to those that it is shared with. It was made with mode 0600.
func (s Share) apply(directory string) error {
	path := filepath.Join(directory, Name)
	if s.group >= 0 {
		if err := os.Lchown(path, -1, s.group); err != nil {
			return fmt.Errorf("share: %w", err)
		}
	}
	return os.Chmod(path, s.mode) // the directory is its owner's alone: no link can be there
}

// open reports whether others may connect at all.
func (s Share) open() bool { return s.mode&0o066 != 0 }

// numbers is a snapshot as others may see it: without names, command lines, jobs,
// and what programs call their libraries, caches and settings.
func numbers(snap *snapshot.Snapshot) *snapshot.Snapshot {
	if snap == nil {
		return nil
	}
	out := *snap
	out.Host.User = ""
	out.Rows = make([]snapshot.Process, len(snap.Rows))
	for i := range snap.Rows {
		out.Rows[i] = numbersOf(&snap.Rows[i])
	}
	out.Ended, out.Guard = nil, numbersOfGuard(snap.Guard)
	out.Holders = numbersOfHolders(snap.Holders)
	out.GPUs = slices.Clone(snap.GPUs)
	for i := range out.GPUs {
		out.GPUs[i].Holders = numbersOfHolders(out.GPUs[i].Holders)
	}
	return &out
}

// numbersOfGuard is the guard's state without what it knows of processes.
func numbersOfGuard(g *snapshot.Guard) *snapshot.Guard {
	if g == nil {
		return nil
	}
	return &snapshot.Guard{Mode: g.Mode, ByDaemon: g.ByDaemon, Paused: g.Paused}
}

func numbersOfHolders(holders []snapshot.Holder) []snapshot.Holder {
	out := make([]snapshot.Holder, len(holders))
	for i := range holders {
		out[i] = snapshot.Holder{Process: holders[i].Process, User: holders[i].User}
	}
	return out
}

func numbersOf(p *snapshot.Process) snapshot.Process {
	out := *p
	out.Name, out.Command, out.Job, out.Parent, out.Evictable = "", nil, process.Job{}, 0, nil
	out.Allocators = make([]snapshot.Allocator, len(p.Allocators))
	for i := range p.Allocators {
		out.Allocators[i] = p.Allocators[i]
		out.Allocators[i].Config, out.Allocators[i].Largest = "", nil
	}
	if p.Probe != nil {
		probe := *p.Probe
		probe.Capabilities, probe.StartedBy = nil, ""
		out.Probe = &probe
	}
	return out
}

// sharedEvent reports whether others may read of an event, and takes the program's
// name out of it. What was done to a process is its user's and root's matter.
func sharedEvent(e *snapshot.Event) bool {
	switch e.Kind {
	case snapshot.EventFlush, snapshot.EventAttach, snapshot.EventSignal, snapshot.EventFailed, snapshot.EventGuard,
		snapshot.EventRescued, snapshot.EventNotRescued:
		return false
	default:
		e.Name = ""
		if of := e.OutOfMemory; of != nil {
			numbers := *of
			numbers.API, numbers.Library, numbers.Config = "", "", ""
			e.OutOfMemory = &numbers
		}
		return true
	}
}
