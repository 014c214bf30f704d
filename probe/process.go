package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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

// startTime is field 22 of stat in a directory of /proc. The program's name may
// contain parentheses: the last one ends it.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func startTime(dir string) (uint64, error) {
	line, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, err
	}
	return parseStartTime(string(line))
}

func parseStartTime(line string) (uint64, error) {
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	const afterName = 22 - 3 // the first of them is field 3
	if len(fields) <= afterName {
		return 0, errTruncated
	}
	return strconv.ParseUint(fields[afterName], 10, 64)
}

// readLimited reads the start of a file of /proc.
func readLimited(path string, limit int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, limit))
	return string(content), err
}
