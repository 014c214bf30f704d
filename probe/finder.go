package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
)

// Finder connects to probes and makes sure of who they are.
type Finder struct {
	proc     string
	table    *process.Table
	uid      uint32        // who asks
	deadline time.Duration // of the connections' answers
	runtime  string        // our own XDG_RUNTIME_DIR, which the probe of another shell may share
}

// NewFinder finds probes for the user that runs this program: that user's
// own; everybody's for root.
func NewFinder(table *process.Table) *Finder {
	return &Finder{proc: "/proc", table: table, uid: uint32(os.Geteuid()), deadline: StatsDeadline, runtime: os.Getenv("XDG_RUNTIME_DIR")}
}

// ErrNoProbe says that a process has no probe.
var ErrNoProbe = errors.New("it has no probe")

// errOutside is the answer to a peer whose pid is 0.
var errOutside = errors.New("its process is outside this container's pid namespace and cannot be identified; run vramscope on the host")

// errInherited is the answer to a peer who is no more: a child that it forked
// has its sockets.
var errInherited = errors.New("its process has ended, and another holds its socket: refused")

// Open connects to the probe of a process, in whatever mount and pid
// namespace it is:
//
//	pid → last field of NSpid → /proc/PID/root + the process's directory → connect → is it that process?
func (f *Finder) Open(pid int) (*Client, error) {
	id, err := f.table.Identify(pid)
	if err != nil {
		return nil, err
	}
	who, err := ownerOf(f.proc, pid)
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	if f.uid != 0 && who.uid != f.uid {
		return nil, fmt.Errorf("probe: %w", &process.Refusal{
			Reason: fmt.Sprintf("PID %d belongs to user %d; you are user %d", pid, who.uid, f.uid),
		})
	}
	name := socketName(who.nspid, id.StartTime)
	var failures []error
	tried := map[string]bool{}
	for _, source := range []func(pid int, who owner) []string{f.usual, f.told} {
		for _, path := range source(pid, who) {
			if tried[path] {
				continue
			}
			tried[path] = true
			client, err := f.openIn(pid, path, name, who)
			if err == nil {
				return client, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				failures = append(failures, err)
			}
		}
	}
	if len(failures) == 0 {
		failures = append(failures, ErrNoProbe)
	}
	return nil, fmt.Errorf("probe: PID %d: %w", pid, errors.Join(failures...))
}

// usual are the directories that can be told without reading anything slow.
func (f *Finder) usual(pid int, who owner) []string {
	inner := innerUID(f.proc, pid, who.uid)
	dirs := usualDirectories(inner)
	if who.uid == f.uid && f.runtime != "" {
		dirs = append(dirs, Directories(inner, f.runtime)...)
	}
	return dirs
}

// told is the directory that the process's environment names. Reading it may
// wait for a lock that a process stuck in the driver holds.
func (f *Finder) told(pid int, who owner) []string {
	content, err := readLimited(filepath.Join(f.proc, strconv.Itoa(pid), "environ"), environmentSize)
	if err != nil {
		return nil
	}
	for variable := range strings.SplitSeq(content, "\x00") {
		if runtime, ok := strings.CutPrefix(variable, "XDG_RUNTIME_DIR="); ok {
			return Directories(innerUID(f.proc, pid, who.uid), runtime)
		}
	}
	return nil
}

// environmentSize bounds what is read of an environment.
const environmentSize = 256 << 10

// sharesMounts reports whether a process sees the same files as we do.
func (f *Finder) sharesMounts(pid int) bool {
	theirs, err := os.Readlink(filepath.Join(f.proc, strconv.Itoa(pid), "ns/mnt"))
	if err != nil {
		return false
	}
	ours, err := os.Readlink(filepath.Join(f.proc, "self/ns/mnt"))
	return err == nil && theirs == ours
}

// openIn looks for a name in one directory of a process, as the process sees
// it, and as we do where its root may not be entered.
func (f *Finder) openIn(pid int, path, name string, who owner) (*Client, error) {
	dir, err := openDirectory(filepath.Join(f.proc, strconv.Itoa(pid), "root"), path, who.uid)
	if errors.Is(err, fs.ErrPermission) {
		dir, err = openDirectory("/", path, who.uid)
	}
	if err != nil {
		return nil, err
	}
	defer dir.close()
	client, err := f.visit(dir, name)
	if err != nil {
		return nil, err
	}
	if client.process.PID != pid {
		_ = client.Close()
		return nil, fmt.Errorf("%s: PID %d listens there, not PID %d: refused", client.path, client.process.PID, pid)
	}
	return client, nil
}

// visit connects to a socket and finds out whose it is.
func (f *Finder) visit(dir *directory, name string) (*Client, error) {
	path := filepath.Join(dir.path, name)
	if _, err := dir.inode(name); err != nil {
		return nil, err
	}
	conn, err := dir.connect(name)
	if err != nil {
		return nil, err
	}
	client, err := f.recognise(conn, dir, name)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return client, nil
}

// recognise makes sure that the peer is a process whose socket this is: the
// kernel names the process that listens, /proc says who that is, and the
// socket's name must be what such a process calls its socket.
func (f *Finder) recognise(conn *net.UnixConn, dir *directory, name string) (*Client, error) {
	pid, uid, err := peerOf(conn)
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return nil, errOutside
	}
	id, err := f.table.Identify(pid)
	if err != nil {
		return nil, errInherited
	}
	who, err := ownerOf(f.proc, pid)
	switch {
	case err != nil:
		return nil, err
	case uid != dir.uid || who.uid != dir.uid:
		return nil, fmt.Errorf("PID %d of user %d listens in a directory of user %d: refused", pid, who.uid, dir.uid)
	case name != socketName(who.nspid, id.StartTime):
		return nil, fmt.Errorf("PID %d listens there, whose socket has another name: refused", pid)
	}
	client := newClient(conn, filepath.Join(dir.path, name), id, who)
	client.deadline = f.deadline
	return client, nil
}

// innerUID is what a process in a user namespace of its own calls its user.
// Source: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
func innerUID(proc string, pid int, uid uint32) int {
	content, err := readLimited(filepath.Join(proc, strconv.Itoa(pid), "uid_map"), 4<<10)
	if err != nil {
		return int(uid)
	}
	return parseInnerUID(content, uid)
}

// parseInnerUID reads lines of "inside outside count".
func parseInnerUID(content string, uid uint32) int {
	for line := range strings.Lines(content) {
		var inside, outside, count uint32
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			continue
		}
		if uid >= outside && uid-outside < count {
			return int(inside + uid - outside)
		}
	}
	return int(uid)
}
