package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vramscope/internal/install"
	"vramscope/internal/process"
)

// A vramscope that is killed while attaching leaves the directory of its payload.
// The directory's name has its maker, and the process that may still open the
// script in it, so that the next attaching can recognise and remove it:
//
//	vramscope-attach-<pid namespace>-<maker>-<started>-<process>-<started>-<random>
//
// The temporary directory is shared. Only a private directory of the same user is
// touched, without following a link, and in it only the files of a payload, and
// only after its maker and its gdb have exited.

// payloadPrefix is the prefix of payloads' directories.
const payloadPrefix = "vramscope-attach-"

// mark is the information in the name of a payload's directory.
type mark struct {
	namespace uint64 // of the pids
	maker     born
	// target is the process that may open the script by its name at any time; zero
	// if there is none.
	target born
}

// born identifies a process within a known pid namespace.
type born struct {
	pid   int
	start uint64
}

// ownMark is this program's mark, with or without a target. Without /proc there is
// none, and leftovers stay.
func ownMark(target born) (mark, bool) {
	own, err := process.NewTable("/proc").Identify(os.Getpid())
	return mark{own.Namespace, born{own.PID, own.StartTime}, target}, err == nil && own.Namespace != 0
}

// pattern is for os.MkdirTemp.
func (m mark) pattern() string {
	return fmt.Sprintf("%s%d-%d-%d-%d-%d-*", payloadPrefix, m.namespace, m.maker.pid, m.maker.start, m.target.pid, m.target.start)
}

func parseMark(name string) (m mark, ok bool) {
	rest, ok := strings.CutPrefix(name, payloadPrefix)
	words := strings.Split(rest, "-")
	if !ok || len(words) != 6 {
		return mark{}, false
	}
	var numbers [5]uint64
	for i := range numbers {
		n, err := strconv.ParseUint(words[i], 10, 63)
		if err != nil {
			return mark{}, false
		}
		numbers[i] = n
	}
	m = mark{numbers[0], born{int(numbers[1]), numbers[2]}, born{int(numbers[3]), numbers[4]}}
	return m, m.maker.pid > 0 && strings.HasPrefix(name, strings.TrimSuffix(m.pattern(), "*"))
}

// mayLive reports whether a process exists, or may exist.
func (b born) mayLive() bool {
	if b.pid == 0 {
		return false
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(b.pid)); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	now, err := process.NewTable("/proc").Identify(b.pid)
	return err != nil || now.StartTime == b.start
}

// clearLeftovers removes this user's leftovers from a temporary directory. Errors
// do not matter.
func clearLeftovers(parent string, uid uint32) {
	own, ok := ownMark(born{})
	if !ok {
		return
	}
	fd, err := unix.Open(parent, directoryFlags, 0)
	if err != nil {
		return
	}
	directory := os.NewFile(uintptr(fd), parent)
	defer func() { _ = directory.Close() }() // only read
	const batch, limit = 512, 1 << 16        // the directory may be very large
	for looked := 0; looked < limit; looked += batch {
		names, err := directory.Readdirnames(batch)
		for _, name := range names {
			if m, ok := parseMark(name); ok && m.namespace == own.namespace && !m.maker.mayLive() {
				clearLeftover(int(directory.Fd()), name, uid, m.target.mayLive())
			}
		}
		if err != nil {
			return // io.EOF, mostly
		}
	}
}

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// clearLeftover removes one payload's directory. If its process may still open the
// script, an empty script stays.
func clearLeftover(parent int, name string, uid uint32, awaited bool) {
	fd, err := unix.Openat(parent, name, directoryFlags, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // only read
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Uid != uid || st.Mode&0o7777 != 0o700 || debuggerLives(fd) {
		return
	}
	for _, file := range payloadFiles {
		if file != scriptName || !awaited {
			_ = unix.Unlinkat(fd, file, 0) // most do not exist
		}
	}
	if awaited {
		empty(fd, scriptName, uid)
		return
	}
	_ = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) // it stays if it contains anything else
}

// payloadFiles are the names of the files in a payload's directory.
var payloadFiles = []string{claimName, failedName, scriptName, imageName, debuggerName}

// debuggerLives reports whether a gdb works in a directory: it holds a lock on its
// output.
func debuggerLives(directory int) bool {
	fd, err := unix.Openat(directory, debuggerName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	defer func() { _ = unix.Close(fd) }() // only locked
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil
}

// empty truncates a file that has no other link.
func empty(directory int, name string, uid uint32) {
	fd, err := unix.Openat(directory, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && st.Uid == uid {
		_ = unix.Ftruncate(fd, 0) // an empty script does nothing
	}
}

// makeDirectory makes a payload's directory, after clearing leftovers. root is as in
// Plan: the path is the same for both sides.
func makeDirectory(target born, root string) (string, error) {
	uid, temporary := uint32(os.Geteuid()), os.TempDir()
	if root != "" {
		temporary = "/tmp"
	}
	temporary, err := install.TrustedBelow(root, temporary)
	temporary = root + temporary
	if err != nil {
		return "", fmt.Errorf("temporary directory: %w; or set TMPDIR to a directory of your own", err)
	}
	clearLeftovers(temporary, uid)
	pattern := payloadPrefix + "*"
	if m, ok := ownMark(target); ok {
		pattern = m.pattern()
	}
	directory, err := os.MkdirTemp(temporary, pattern) // mode 0700
	if err != nil {
		return "", fmt.Errorf("make a directory in %s: %w", filepath.Clean(temporary), err)
	}
	return directory, nil
}
