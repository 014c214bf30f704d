package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Place returns the path of the socket for a process of the user uid that sees the same directories
// as this program. It makes the socket's directory: the first usable one of Directories, or else the
// user's spare directory in /tmp. runtime is the process's XDG_RUNTIME_DIR.
func Place(uid int, runtime string, pid int, start uint64) (string, error) {
	const longest = 107 // of a socket's address, which ends with a NUL
	var refusals []error
	name := socketName(pid, start)
	usable := func(dir *directory, err error) bool {
		if err == nil {
			dir.close()
			if len(filepath.Join(dir.path, name)) <= longest {
				return true
			}
			err = fmt.Errorf("%s is too long for a socket's address", dir.path)
		}
		refusals = append(refusals, err)
		return false
	}
	for _, path := range Directories(uid, runtime) {
		if usable(makeDirectory(path, uint32(uid))) {
			return filepath.Join(path, name), nil
		}
	}
	spare, err := spareDirectory(temporary, uint32(uid))
	if usable(spare, err) {
		return filepath.Join(spare.path, name), nil
	}
	return "", errors.Join(refusals...)
}

// OwnPlace returns Place for this process.
func OwnPlace() (string, error) {
	start, err := ownStart()
	if err != nil {
		return "", fmt.Errorf("probe: this process's start time: %w", err)
	}
	return Place(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR"), os.Getpid(), start)
}

// ownStart returns this process's start time in clock ticks since boot. /proc may be of another
// pid namespace, but /proc/self is always this process.
func ownStart() (uint64, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	stat, err := self.Stat()
	return stat.Starttime, err
}

const directoryName = "vramscope" // of the directory of sockets below $XDG_RUNTIME_DIR; names in /tmp begin with it

// Directories returns the directories where a user's process may serve, without the spare ones, in
// order of preference. runtime is the process's XDG_RUNTIME_DIR, or "".
func Directories(uid int, runtime string) []string {
	var dirs []string
	if filepath.IsAbs(runtime) {
		dirs = append(dirs, filepath.Join(runtime, directoryName))
	}
	return append(dirs, fmt.Sprintf("%s/%s-%d", temporary, directoryName, uid))
}

const temporary = "/tmp"

// sparePrefix begins the names of a user's spare directories in /tmp. The names end at random:
// anybody could take a known name, and so keep a process without a runtime directory from serving.
func sparePrefix(uid int) string { return fmt.Sprintf("%s-%d-", directoryName, uid) }

// usualDirectories returns Directories for a process whose environment is unknown.
func usualDirectories(uid int) []string {
	return Directories(uid, fmt.Sprintf("/run/user/%d", uid))
}

// The suffixes of a socket, and of the record of a program that exited out of memory.
const socketSuffix, recordSuffix = ".sock", ".last"

// socketName returns "4711-190284.sock": the process's own pid, in its own pid
// namespace, and its start time in clock ticks (field 22 of /proc/PID/stat).
func socketName(pid int, start uint64) string {
	return strconv.Itoa(pid) + "-" + strconv.FormatUint(start, 10) + socketSuffix
}

// socketOf returns the name of the socket that a record belongs to; false if it is no record's name.
func socketOf(record string) (name string, ok bool) {
	name, ok = strings.CutSuffix(record, recordSuffix)
	return name + socketSuffix, ok
}

// parseSocketName is the inverse of socketName, and accepts nothing else.
func parseSocketName(name string) (pid int, start uint64, ok bool) {
	before, after, ok := strings.Cut(strings.TrimSuffix(name, socketSuffix), "-")
	if !ok {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(before)
	if err != nil || pid <= 0 {
		return 0, 0, false
	}
	start, err = strconv.ParseUint(after, 10, 64)
	if err != nil || socketName(pid, start) != name {
		return 0, 0, false
	}
	return pid, start, true
}
