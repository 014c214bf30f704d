package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// place is where a server listens.
type boundSocket struct {
	directory string
	name      string
	inode     uint64
	listener  *net.UnixListener
	pid       int // who bound it: a forked child has the listener, but not the name
}

func (p *boundSocket) path() string { return filepath.Join(p.directory, p.name) }

// bind listens in the first directory that can be used, and tidies it up.
func bind(directories []string, uid uint32, pid int, start uint64, now time.Time) (*boundSocket, error) {
	var refusals []error
	for _, path := range directories {
		p, err := bindIn(path, uid, pid, start, now)
		if err == nil {
			return p, nil
		}
		refusals = append(refusals, err)
		if errors.Is(err, errServed) {
			break
		}
	}
	return nil, fmt.Errorf("probe: nowhere to serve: %w", errors.Join(refusals...))
}

var errServed = errors.New("this process serves a probe already")

func bindIn(path string, uid uint32, pid int, start uint64, now time.Time) (*boundSocket, error) {
	dir, err := makeDirectory(path, uid)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	dir.tidy(now)
	name := socketName(pid, start)
	listener, err := dir.listen(name)
	if errors.Is(err, syscall.EADDRINUSE) {
		// The name is ours alone: it is this process's other probe, or the
		// program before an exec, which kept the pid and the start time.
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
	listener.SetUnlinkOnClose(false)
	inode, err := dir.inode(name)
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	return &boundSocket{directory: path, name: name, inode: inode, listener: listener, pid: pid}, nil
}

const (
	// A socket that is bound and not yet listened on looks dead.
	bindingTime = 10 * time.Second
	mostTidied  = 4096
)

// tidy removes the sockets of processes that have died. What goes wrong with
// that is nobody's problem.
func (d *directory) tidy(now time.Time) {
	names, _, err := d.sockets(mostTidied)
	if err != nil {
		return
	}
	for _, name := range names {
		pid, start, ok := parseSocketName(name)
		if !ok || alive(pid, start) {
			continue
		}
		// A directory may be shared with other pid namespaces: a name that
		// means nobody here may be somebody there. The socket itself knows.
		info, err := os.Lstat(d.reach(name))
		if err == nil && now.Sub(info.ModTime()) > bindingTime && d.dead(name) {
			_ = d.remove(name)
		}
	}
}

// dead reports whether nobody listens on a socket any more.
func (d *directory) dead(name string) bool {
	if _, err := d.inode(name); err != nil {
		return false // not a socket, or not ours: left alone
	}
	conn, err := d.connect(name)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// alive reports whether a process of this pid namespace is still there.
func alive(pid int, start uint64) bool {
	now, err := startTime("/proc/" + strconv.Itoa(pid))
	return err == nil && now == start
}

// standing reports whether the name still leads to this listener.
func (p *boundSocket) standing(uid uint32) bool {
	dir, err := openDirectory("/", p.directory, uid)
	if err != nil {
		return false
	}
	defer dir.close()
	inode, err := dir.inode(p.name)
	return err == nil && inode == p.inode
}

// leave stops listening and removes the name, if it is still this listener's
// and this process is the one that made it.
func (p *boundSocket) leave(uid uint32, self int) error {
	closed := p.listener.Close()
	if self != p.pid {
		return closed
	}
	dir, err := openDirectory("/", p.directory, uid)
	if errors.Is(err, fs.ErrNotExist) {
		return closed
	}
	if err != nil {
		return errors.Join(closed, err)
	}
	defer dir.close()
	if inode, err := dir.inode(p.name); err != nil || inode != p.inode {
		return closed // gone, or another's by now
	}
	return errors.Join(closed, dir.remove(p.name))
}
