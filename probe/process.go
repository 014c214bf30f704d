package probe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"vramscope/internal/process"
)

// owner determines a socket's directory and name.
type owner struct {
	uid   uint32 // effective
	nspid int    // in the innermost pid namespace, the process's own
}

// ownerOf reads /proc/PID/status below root.
func ownerOf(root string, pid int) (owner, error) {
	var buf [4 << 10]byte
	status, err := process.ReadProc(root+"/"+strconv.Itoa(pid)+"/status", buf[:], 64<<10)
	if err != nil {
		return owner{}, fmt.Errorf("status of PID %d: %w", pid, err)
	}
	who, err := parseOwner(string(status))
	if err != nil {
		return owner{}, fmt.Errorf("status of PID %d: %w", pid, err)
	}
	return who, nil
}

// parseOwner finds "Uid:\treal\teffective\t…" and "NSpid:\touter\t…\tinner".
// Source: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
//
// procfs would be too slow: a box has thousands of processes to search.
func parseOwner(status string) (owner, error) {
	field := func(name string, index int) (uint64, error) {
		_, rest, found := strings.Cut(status, "\n"+name+":\t")
		line, _, whole := strings.Cut(rest, "\n")
		words := strings.Fields(line)
		if index < 0 {
			index += len(words)
		}
		if !found || !whole || index < 0 || index >= len(words) {
			return 0, errTruncated // an ID that is missing must not be 0, which is root's
		}
		return strconv.ParseUint(words[index], 10, 32)
	}
	uid, err := field("Uid", 1)
	if err != nil {
		return owner{}, err
	}
	nspid, err := field("NSpid", -1)
	if err != nil {
		return owner{}, err
	}
	return owner{uid: uint32(uid), nspid: int(nspid)}, nil
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
