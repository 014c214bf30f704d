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
	deadline time.Duration // for each answer on its connections
	runtime  string        // this process's XDG_RUNTIME_DIR, which probes of the same user may share
	listings listings      // of directories for temporary files
}

// NewFinder finds the probes of the user that runs this program, and for root those of every user.
func NewFinder(table *process.Table) *Finder {
	return &Finder{
		proc: "/proc", table: table, uid: uint32(os.Geteuid()), deadline: StatsDeadline, runtime: os.Getenv("XDG_RUNTIME_DIR"),
	}
}

// ErrNoProbe means that a process has no probe.
var ErrNoProbe = errors.New("no probe")

// errOutside is for a peer whose pid is 0.
var errOutside = errors.New("the process is outside this container's pid namespace and cannot be identified; run vramscope on the host")

// errInherited is for a peer that has exited: a forked child still has its sockets.
var errInherited = errors.New("the process has exited, and a child holds its socket: refused")

// Open connects to the probe of a process, in any mount and pid namespace:
//
//	pid → last field of NSpid → /proc/PID/root + the process's directory → connect → is it that process?
func (f *Finder) Open(pid int) (*Client, error) {
	s, err := f.seek(pid)
	if err != nil {
		return nil, err
	}
	return f.open(&s)
}

// sought is a process whose probe is searched for.
type sought struct {
	id    process.Identity
	who   owner
	inner int // the user's ID inside the process's user namespace

	// The directories searched, if none has the socket; nil if not all could be searched.
	without []visited
}

// visited is a directory that was searched; its stamp is zero where there was none.
type visited struct {
	path  string
	stamp stamp
}

// seek finds out where the probe of a process would serve. It refuses other users' processes.
func (f *Finder) seek(pid int) (sought, error) {
	id, err := f.table.Identify(pid)
	if err != nil {
		return sought{}, err
	}
	who, err := ownerOf(f.proc, pid)
	if err != nil {
		return sought{}, fmt.Errorf("probe: %w", err)
	}
	if f.uid != 0 && who.uid != f.uid {
		return sought{}, fmt.Errorf("probe: %w", &process.Refusal{
			Reason: fmt.Sprintf("PID %d belongs to user %d; you are user %d", pid, who.uid, f.uid),
		})
	}
	return sought{id: id, who: who, inner: innerUID(f.proc, pid, who.uid)}, nil
}

func (f *Finder) open(s *sought) (*Client, error) {
	pid, who := s.id.PID, s.who
	name := socketName(who.nspid, s.id.StartTime)
	root := openRoot(f.rootOf(pid))
	defer root.close()
	var failures []error
	var tried []visited
	for _, source := range []func() []string{
		func() []string { return f.usual(s.inner, who.uid) },
		func() []string { return f.fromEnvironment(pid, s.inner) },
		func() []string { return f.spare(root, s.inner, who.uid) },
	} {
		for _, path := range source() {
			if slices.ContainsFunc(tried, func(v visited) bool { return v.path == path }) {
				continue
			}
			client, stamp, err := f.openIn(root, pid, path, name, who)
			if err == nil {
				return client, nil
			}
			tried = append(tried, visited{path, stamp})
			if !errors.Is(err, fs.ErrNotExist) {
				failures = append(failures, err)
			}
		}
	}
	if len(failures) == 0 {
		s.without = tried
		failures = append(failures, ErrNoProbe)
	}
	return nil, fmt.Errorf("probe: PID %d: %w", pid, errors.Join(failures...))
}

// unchanged reports whether directories, as a process sees them, have not changed since
// they were searched. That takes a fifth of the system calls of a search.
func (f *Finder) unchanged(pid int, directories []visited, at time.Time) bool {
	root := openRoot(f.rootOf(pid))
	defer root.close()
	for _, before := range directories {
		now, err := root.stampAt(before.path)
		if err != nil || !(listing{stamp: before.stamp, at: at}).current(now) {
			return false
		}
	}
	return true
}

// OpenProcess makes a new connection to the probe of a process. It is refused if
// the identity no longer matches.
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
// processes' environments, which may be slow.
func (f *Finder) usual(inner int, uid uint32) []string {
	dirs := usualDirectories(inner)
	if uid == f.uid && f.runtime != "" {
		dirs = append(dirs, Directories(inner, f.runtime)...)
	}
	return dirs
}

// fromEnvironment returns the directories that the process's environment names.
func (f *Finder) fromEnvironment(pid, inner int) []string {
	runtime, err := f.runtimeOf(pid)
	if err != nil || runtime == "" {
		return nil
	}
	return Directories(inner, runtime)
}

// runtimeOf returns the XDG_RUNTIME_DIR in a process's environment, "" where it has none.
// Reading it may wait for a lock held by a process that hangs in the driver.
func (f *Finder) runtimeOf(pid int) (string, error) {
	var buf [4 << 10]byte
	content, err := process.ReadProc(f.proc+"/"+strconv.Itoa(pid)+"/environ", buf[:], environmentSize)
	if err != nil {
		return "", err
	}
	return process.ValueOf(content, "XDG_RUNTIME_DIR"), nil
}

// environmentSize limits how much of an environment is read.
const environmentSize = 256 << 10

// rootOf returns a path to the root directory that a process sees.
func (f *Finder) rootOf(pid int) string { return filepath.Join(f.proc, strconv.Itoa(pid), "root") }

// openIn connects to a socket in a directory as the process sees it, or as this program sees it if
// the process's root is inaccessible. The stamp of the directory is taken before the attempt.
func (f *Finder) openIn(root root, pid int, path, name string, who owner) (*Client, stamp, error) {
	dir, err := root.directory(path, who.uid)
	if errors.Is(err, fs.ErrPermission) {
		dir, err = openDirectory(path, who.uid)
	}
	if err != nil {
		return nil, stamp{}, err
	}
	defer dir.close()
	client, err := f.visit(dir, name)
	if err != nil {
		return nil, dir.stamp, err
	}
	if client.process.PID != pid {
		_ = client.Close()
		return nil, stamp{}, fmt.Errorf("%s: PID %d listens on it, not PID %d: refused", client.path, client.process.PID, pid)
	}
	return client, stamp{}, nil
}

// visit connects to a socket and verifies its process.
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

// recognise verifies the peer: the kernel names the process that listens, and the
// socket must have that process's name and owner.
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

// innerUID returns the user's ID inside the process's user namespace.
// Source: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
func innerUID(proc string, pid int, uid uint32) int {
	var buf [256]byte // a mapping takes 34 bytes, and most processes have one or two
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
