package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
)

// Whoever attaches and is killed leaves the directory of its payload behind. The
// directory's name says who made it, and for which process where that may still
// open what is in it, so that the next one can tell a leftover:
//
//	vramscope-attach-<pid namespace>-<maker>-<started>-<process>-<started>-<random>
//
// The temporary directory is everybody's. Nothing in it is touched but a
// directory of one's own that nobody else can look into, reached without
// following a link; in it only files that a payload has; and only if its maker
// has ended, and the gdb that it had started.

// payloadPrefix begins the names of payloads' directories.
const payloadPrefix = "vramscope-attach-"

// mark is what the name of a payload's directory says.
type mark struct {
	namespace uint64 // of the pids
	maker     born
	// target is the process that may come to the script by its name at any
	// time, and complain where it finds none; zero where it cannot.
	target born
}

// born is a process of a pid namespace that is known.
type born struct {
	pid   int
	start uint64
}

// ownMark is this program's, with a target or without. Where /proc does not
// tell who this is there is none, and what is left would stay.
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
	return m, m.maker.pid > 0
}

// mayLive reports whether a process is there, or nobody can tell.
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

// clearLeftovers removes from a temporary directory what others of this user
// have left there when they were killed. What cannot be removed stays: it is in
// nobody's way.
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
	defer func() { _ = directory.Close() }() // it was only read from
	const atOnce, most = 512, 1 << 16        // somebody may have filled it
	for looked := 0; looked < most; looked += atOnce {
		names, err := directory.Readdirnames(atOnce)
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

// clearLeftover removes one payload's directory, or all of it but an empty
// script where its process may still come to that.
func clearLeftover(parent int, name string, uid uint32, awaited bool) {
	fd, err := unix.Openat(parent, name, directoryFlags, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // it was only read from
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Uid != uid || st.Mode&0o7777 != 0o700 || debuggerLives(fd) {
		return
	}
	awaited = awaited && !exists(fd, startedName) && !exists(fd, failedName)
	for _, file := range payloadFiles() {
		if file != scriptName || !awaited {
			_ = unix.Unlinkat(fd, file, 0) // most are not there
		}
	}
	if awaited {
		empty(fd, scriptName, uid)
		return
	}
	_ = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) // it stays if there is anything else in it
}

// payloadFiles are the names of what is in a payload's directory.
func payloadFiles() []string {
	names := []string{payloadName, agentName, scriptName, imageName, debuggerName, startedName, failedName}
	for _, name := range slices.Clone(names[len(names)-2:]) {
		names = append(names, name+".new")
	}
	return names
}

// debuggerLives reports whether a gdb works in a directory. It holds a lock on
// what it writes for as long as it lives.
func debuggerLives(directory int) bool {
	fd, err := unix.Openat(directory, debuggerName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	defer func() { _ = unix.Close(fd) }() // it was only locked
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil
}

func exists(directory int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(directory, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// empty leaves nothing in a file that only this directory has.
func empty(directory int, name string, uid uint32) {
	fd, err := unix.Openat(directory, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && st.Uid == uid {
		_ = unix.Ftruncate(fd, 0) // without the payload it does nothing anyway
	}
}

// makeDirectory makes a payload's directory, once what is left of others is
// gone.
func makeDirectory(target born) (string, error) {
	uid := uint32(os.Geteuid())
	temporary, err := trusted(os.TempDir(), uid)
	if err != nil {
		return "", err
	}
	clearLeftovers(temporary, uid)
	pattern := payloadPrefix + "*"
	if m, ok := ownMark(target); ok {
		pattern = m.pattern()
	}
	directory, err := os.MkdirTemp(temporary, pattern) // mode 0700
	if err != nil {
		return "", fmt.Errorf("a directory in %s: %w", filepath.Clean(temporary), err)
	}
	return directory, nil
}
