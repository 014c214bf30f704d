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
	"syscall"
	"time"

	"vramscope/internal/process"
)

// boundSocket is a socket that a server listens on.
type boundSocket struct {
	directory string
	name      string
	inode     uint64
	listener  *net.UnixListener
	pid       int // of the process that bound it: a forked child inherits the listener
}

func (p *boundSocket) path() string { return filepath.Join(p.directory, p.name) }

// bind listens in the first directory that is usable, and removes dead sockets
// from it. With spare, the last is the user's spare directory in /tmp.
func bind(directories []string, spare bool, uid uint32, pid int, start uint64, now time.Time) (*boundSocket, error) {
	var refusals []error
	for _, open := range places(directories, spare, uid) {
		p, err := bindIn(open, pid, start, now)
		if err == nil {
			return p, nil
		}
		refusals = append(refusals, err)
		if errors.Is(err, errServed) {
			break
		}
	}
	return nil, fmt.Errorf("probe: no usable directory for a socket: %w", errors.Join(refusals...))
}

// places are the functions that open each directory, and make it if necessary.
func places(directories []string, spare bool, uid uint32) []func() (*directory, error) {
	opens := make([]func() (*directory, error), 0, len(directories)+1)
	for _, path := range directories {
		opens = append(opens, func() (*directory, error) { return makeDirectory(path, uid) })
	}
	if spare {
		opens = append(opens, func() (*directory, error) { return spareDirectory(temporary, uid) })
	}
	return opens
}

// Place returns the path at which a process of this user and of this program's
// directories is to serve, and makes its directory. runtime is its XDG_RUNTIME_DIR.
func Place(uid int, runtime string, pid int, start uint64) (string, error) {
	const longest = 107 // of a socket's address, which ends with a NUL
	var refusals []error
	for _, open := range places(Directories(uid, runtime), true, uint32(uid)) {
		dir, err := open()
		if err != nil {
			refusals = append(refusals, err)
			continue
		}
		dir.close()
		if path := filepath.Join(dir.path, socketName(pid, start)); len(path) <= longest {
			return path, nil
		}
		refusals = append(refusals, fmt.Errorf("%s is too long for a socket's address", dir.path))
	}
	return "", errors.Join(refusals...)
}

// OwnPlace is Place for this process.
func OwnPlace() (string, error) {
	start, err := ownStart()
	if err != nil {
		return "", fmt.Errorf("probe: this process's start time: %w", err)
	}
	return Place(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR"), os.Getpid(), start)
}

var errServed = errors.New("this process already has a probe")

func bindIn(open func() (*directory, error), pid int, start uint64, now time.Time) (*boundSocket, error) {
	dir, err := open()
	if err != nil {
		return nil, err
	}
	defer dir.close()
	dir.tidy(now)
	name := socketName(pid, start)
	listener, err := dir.listen(name)
	if errors.Is(err, syscall.EADDRINUSE) {
		// The name belongs to this process: to its other probe, or to the program
		// before an exec, which keeps pid and start time.
		if !dir.dead(name) {
			return nil, errServed
		}
		if err := dir.remove(name); err != nil {
			return nil, err
		}
		listener, err = dir.listen(name)
	}
	if err != nil {
		return nil, err
	}
	inode, err := dir.inode(name)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	return &boundSocket{directory: dir.path, name: name, inode: inode, listener: listener, pid: pid}, nil
}

const (
	// A socket between bind and listen looks dead.
	bindingTime = 10 * time.Second
	maxTidied   = 4096
)

// tidy removes the sockets of processes that have exited. Errors do not matter.
func (d *directory) tidy(now time.Time) {
	names, _, err := d.sockets(maxTidied)
	if err != nil {
		return
	}
	processes := process.NewTable("/proc")
	for _, name := range names {
		pid, start, ok := parseSocketName(name)
		if !ok || processes.Alive(process.Identity{PID: pid, StartTime: start}) {
			continue
		}
		// The pid may be of another pid namespace that shares the directory:
		// connecting shows whether it is alive.
		info, err := os.Lstat(d.reach(name))
		if err == nil && now.Sub(info.ModTime()) > bindingTime && d.dead(name) {
			_ = d.remove(name)
		}
	}
}

// dead reports whether no process listens on a socket.
func (d *directory) dead(name string) bool {
	if _, err := d.inode(name); err != nil {
		return false // not a socket, or another user's: left alone
	}
	conn, err := d.connect(name)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// reachable reports whether the name still leads to this listener.
func (p *boundSocket) reachable(uid uint32) bool {
	dir, err := openDirectory(p.directory, uid)
	if err != nil {
		return false
	}
	defer dir.close()
	inode, err := dir.inode(p.name)
	return err == nil && inode == p.inode
}

// leave stops listening. It removes the name if that still leads to this listener
// and this process created it.
func (p *boundSocket) leave(uid uint32, self int) error {
	closed := p.listener.Close()
	if self != p.pid {
		return closed
	}
	dir, err := openDirectory(p.directory, uid)
	if errors.Is(err, fs.ErrNotExist) {
		return closed
	}
	if err != nil {
		return errors.Join(closed, err)
	}
	defer dir.close()
	if inode, err := dir.inode(p.name); err != nil || inode != p.inode {
		return closed // removed, or replaced by another socket
	}
	return errors.Join(closed, dir.remove(p.name))
}

// directoryName is the directory of sockets below $XDG_RUNTIME_DIR.
const directoryName = "vramscope"

// Directories are the directories where a user's process may serve, in order of preference.
// runtime is its XDG_RUNTIME_DIR, or "".
func Directories(uid int, runtime string) []string {
	var dirs []string
	if filepath.IsAbs(runtime) {
		dirs = append(dirs, filepath.Join(runtime, directoryName))
	}
	return append(dirs, fmt.Sprintf("%s/%s-%d", temporary, directoryName, uid))
}

// temporary is where every user can make directories.
const temporary = "/tmp"

// sparePrefix begins the names of that user's spare directories in /tmp, whose ends
// are random. Anybody can make a directory under a name that is known, and keep a
// process without a runtime directory from serving.
func sparePrefix(uid int) string { return fmt.Sprintf("%s-%d-", directoryName, uid) }

// usualDirectories are that user's directories if the process's environment is
// unknown.
func usualDirectories(uid int) []string {
	return Directories(uid, fmt.Sprintf("/run/user/%d", uid))
}

// A socket's suffix, and that of the record of an error that the program has exited with.
const socketSuffix, recordSuffix = ".sock", ".last"

// socketName is "4711-190284.sock": the process's own pid, in its own pid
// namespace, and its start time in clock ticks (field 22 of /proc/PID/stat).
func socketName(pid int, start uint64) string {
	return strconv.Itoa(pid) + "-" + strconv.FormatUint(start, 10) + socketSuffix
}

// socketOf is the name of the socket beside which a record lies; false for any other name.
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
