package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// reach is a path to a name in the directory that fits the 108 bytes of a socket
// address, whatever the length of the directory's own path.
// Source: https://man7.org/linux/man-pages/man7/unix.7.html
func (d *directory) reach(name string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(d.file.Fd())) + "/" + name
}

// listen binds and listens, with mode 0600.
func (d *directory) listen(name string) (*net.UnixListener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }() // FileListener has a copy
	fail := func(what string, err error) error {
		return fmt.Errorf("%s %s: %w", what, filepath.Join(d.path, name), err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: d.reach(name)}); err != nil {
		return nil, fail("bind", err)
	}
	if err := unix.Fchmodat(int(d.file.Fd()), name, 0o600, 0); err != nil {
		return nil, fail("chmod", err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, fail("listen on", err)
	}
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fail("listen on", err)
	}
	unixListener, ok := listener.(*net.UnixListener)
	if !ok {
		_ = listener.Close()
		return nil, fail("listen on", errNoUnixSocket)
	}
	return unixListener, nil
}

const backlog = 16

var errNoUnixSocket = errors.New("not a Unix socket")

// connect never waits: it fails if the queue of a stopped server is full. It has
// the rights of the directory's owner.
func (d *directory) connect(name string) (*net.UnixConn, error) {
	path := filepath.Join(d.path, name)
	var conn *net.UnixConn
	err := withRightsOf(d.uid, d.gid, func() (err error) {
		conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: d.reach(name), Net: "unix"})
		return err
	})
	if errors.Is(err, unix.EAGAIN) {
		return nil, fmt.Errorf("connect to %s: the process does not accept connections, and its queue is full", path)
	}
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		err = errno // without the path below /proc/self
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return conn, nil
}

// peerOf is the process at the other end: for a server the one that connected,
// for a client the one that called listen. The pid is in this process's pid
// namespace, and 0 for a process outside of it.
func peerOf(conn *net.UnixConn) (pid int, uid uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, fmt.Errorf("identify the peer: %w", err)
	}
	var cred *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, 0, fmt.Errorf("identify the peer: %w", err)
	}
	if asked != nil {
		return 0, 0, fmt.Errorf("identify the peer: %w", asked)
	}
	return int(cred.Pid), cred.Uid, nil
}

// receive reads data and descriptors.
func receive(conn *net.UnixConn, buffer []byte) (int, []*os.File, error) {
	var control [64]byte // space for the descriptor of a snapshot, and a few unwanted ones
	n, controlled, _, _, err := conn.ReadMsgUnix(buffer, control[:])
	if controlled == 0 {
		return n, nil, err
	}
	messages, parseErr := unix.ParseSocketControlMessage(control[:controlled])
	if parseErr != nil {
		return n, nil, err
	}
	var files []*os.File
	for i := range messages {
		fds, rightsErr := unix.ParseUnixRights(&messages[i])
		if rightsErr != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "snapshot"))
		}
	}
	return n, files, err
}

// send writes a line, with a descriptor at its first byte.
func send(conn *net.UnixConn, line []byte, file *os.File) error {
	n, _, err := conn.WriteMsgUnix(line, unix.UnixRights(int(file.Fd())), nil)
	if err == nil && n < len(line) {
		_, err = conn.Write(line[n:])
	}
	return err
}
