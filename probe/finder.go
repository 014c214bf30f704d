package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
)

// Finder connects to probes and verifies their processes.
type Finder struct {
	proc     string
	table    *process.Table
	uid      uint32        // the user of this monitor
	deadline time.Duration // for each answer to hello or stats
	runtime  string        // this process's XDG_RUNTIME_DIR, which probes of the same user may share
	listings listings      // of temporary directories
}

// NewFinder makes a Finder for the probes of the user that runs this program, or as root of all users.
func NewFinder(table *process.Table) *Finder {
	return &Finder{
		proc: "/proc", table: table, uid: uint32(os.Geteuid()), deadline: StatsDeadline, runtime: os.Getenv("XDG_RUNTIME_DIR"),
	}
}

// ErrNoProbe means that a process has no probe.
var ErrNoProbe = errors.New("no probe")

// errOutside is for a peer whose pid is 0.
var errOutside = errors.New("the process is outside this container's pid namespace and cannot be identified; run vramscope on the host")

var errInherited = errors.New("the process has exited, and a child holds its socket: refused")

// Open connects to the probe of a process, in any mount and pid namespace. Only root may connect to
// other users' processes.
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
	inner, name := innerUID(f.proc, pid, who.uid), socketName(who.nspid, id.StartTime)
	root := openRoot(f.rootOf(pid))
	defer root.close()
	var failures []error
	var tried []string
	for _, source := range []func() []string{
		func() []string { return f.usual(inner, who.uid) },
		func() []string { return f.fromEnvironment(pid, inner) },
		func() []string { return f.spare(root, inner, who.uid) },
	} {
		for _, path := range source() {
			if slices.Contains(tried, path) {
				continue
			}
			client, err := f.openIn(root, pid, path, name, who)
			if err == nil {
				return client, nil
			}
			tried = append(tried, path)
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

// OpenProcess connects to the probe of a process, or refuses if the identity no longer matches.
func (f *Finder) OpenProcess(id process.Identity) (*Client, error) {
	if err := stillThere(f.table, id); err != nil {
		return nil, err
	}
	client, err := f.Open(id.PID)
	if err != nil {
		return nil, err
	}
	if !id.Same(client.process) {
		_ = client.Close() // nothing was sent on it
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
	}
	return client, nil
}

// stillThere refuses a process that has exited, or whose pid is now another's.
func stillThere(table *process.Table, id process.Identity) error {
	now, err := table.Identify(id.PID)
	if err != nil {
		return &process.Refusal{Reason: fmt.Sprintf("PID %d has exited", id.PID)}
	}
	if !id.Same(now) {
		return &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
	}
	return nil
}

// usual returns the directories in which a user's probes usually serve. It does not read the
// environment of a process, because that may be slow.
func (f *Finder) usual(inner int, uid uint32) []string {
	dirs := usualDirectories(inner)
	if uid == f.uid && f.runtime != "" {
		dirs = append(dirs, Directories(inner, f.runtime)...)
	}
	return dirs
}

func (f *Finder) fromEnvironment(pid, inner int) []string {
	runtime, err := f.runtimeOf(pid)
	if err != nil || runtime == "" {
		return nil
	}
	return Directories(inner, runtime)
}

// runtimeOf returns the XDG_RUNTIME_DIR in a process's environment, "" if it has none.
// The read may wait for a lock that a process hanging in the driver holds.
func (f *Finder) runtimeOf(pid int) (string, error) {
	var buf [4 << 10]byte
	content, err := process.ReadProc(f.proc+"/"+strconv.Itoa(pid)+"/environ", buf[:], environmentSize)
	if err != nil {
		return "", err
	}
	return process.ValueOf(content, "XDG_RUNTIME_DIR"), nil
}

const environmentSize = 256 << 10 // how many bytes of an environment are read

func (f *Finder) rootOf(pid int) string { return filepath.Join(f.proc, strconv.Itoa(pid), "root") }

// openIn connects to a socket in a directory below the process's root. If this program may not
// access that root, it uses its own.
func (f *Finder) openIn(root root, pid int, path, name string, who owner) (*Client, error) {
	dir, err := root.directory(path, who.uid)
	if errors.Is(err, fs.ErrPermission) {
		dir, err = openDirectory(path, who.uid)
	}
	if err != nil {
		return nil, err
	}
	defer dir.close()
	client, err := f.visit(dir, name)
	if err == nil && client.process.PID != pid {
		_ = client.Close()
		return nil, fmt.Errorf("%s: PID %d listens on it, not PID %d: refused", client.path, client.process.PID, pid)
	}
	return client, err
}

func (f *Finder) visit(dir *directory, name string) (*Client, error) {
	path := filepath.Join(dir.path, name)
	if err := dir.checkSocket(name); err != nil {
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

// recognise verifies the process that listens, as the kernel names it: its user must own the
// directory, and the socket's name must have its pid and start time.
func (f *Finder) recognise(conn *net.UnixConn, dir *directory, name string) (*Client, error) {
	peer, err := process.Peer(conn)
	if err != nil {
		return nil, err
	}
	pid := int(peer.Pid)
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
	case peer.Uid != dir.uid || who.uid != dir.uid:
		return nil, fmt.Errorf("PID %d of user %d listens in a directory of user %d: refused", pid, who.uid, dir.uid)
	case name != socketName(who.nspid, id.StartTime):
		return nil, fmt.Errorf("PID %d listens on it, whose socket has another name: refused", pid)
	}
	client := newClient(conn, filepath.Join(dir.path, name), id, who)
	client.deadline = f.deadline
	return client, nil
}

// innerUID returns the user's ID inside the process's user namespace, or uid if that is unknown.
// Source: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
func innerUID(proc string, pid int, uid uint32) int {
	var buf [256]byte // a mapping takes 33 bytes, and most processes have one or two
	content, err := process.ReadProc(proc+"/"+strconv.Itoa(pid)+"/uid_map", buf[:], 12<<10)
	if err != nil {
		return int(uid)
	}
	return parseInnerUID(string(content), uid)
}

// parseInnerUID reads lines of "inside outside count".
func parseInnerUID(content string, uid uint32) int {
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		inside, err1 := strconv.ParseUint(fields[0], 10, 32)
		outside, err2 := strconv.ParseUint(fields[1], 10, 32)
		count, err3 := strconv.ParseUint(fields[2], 10, 32)
		if err1 != nil || err2 != nil || err3 != nil || uint64(uid) < outside || uint64(uid)-outside >= count {
			continue
		}
		if inner := inside + uint64(uid) - outside; inner <= math.MaxUint32 {
			return int(inner)
		}
	}
	return int(uid)
}
