package probe

import (
	"errors"
	"fmt"

	"github.com/prometheus/procfs"
)

// owner determines a socket's directory and name.
type owner struct {
	uid   uint32 // effective
	nspid int    // in the innermost pid namespace, the process's own
}

// ownerOf reads /proc/PID/status below root.
func ownerOf(root string, pid int) (owner, error) {
	fs, err := procfs.NewFS(root)
	if err != nil {
		return owner{}, fmt.Errorf("open %s: %w", root, err)
	}
	proc, err := fs.Proc(pid)
	if err != nil {
		return owner{}, fmt.Errorf("status of PID %d: %w", pid, err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return owner{}, fmt.Errorf("status of PID %d: %w", pid, err)
	}
	// A truncated file would leave every ID 0, which is root's.
	if status.TGID == 0 || len(status.NSpids) == 0 {
		return owner{}, fmt.Errorf("status of PID %d: %w", pid, errTruncated)
	}
	return owner{
		uid:   uint32(status.UIDs[1]),
		nspid: int(status.NSpids[len(status.NSpids)-1]),
	}, nil
}

var errTruncated = errors.New("truncated")

// startTime is a process's start time in clock ticks since boot.
func startTime(p procfs.Proc, err error) (uint64, error) {
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return stat.Starttime, err
}
