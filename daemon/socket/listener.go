package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"vramscope/internal/install"
)

// bound is a directory's two listening sockets.
type bound [2]opened

// listen makes both sockets, and replaces old ones. The caller holds the daemon's lock.
func listen(directory string, share Share) (b bound, err error) {
	if err := checkPlace(directory, uint32(os.Geteuid())); err != nil {
		return b, fmt.Errorf("socket: %w", err)
	}
	if b[0], err = open(filepath.Join(directory, OwnName), Share{0o600, -1}); err != nil {
		return b, err
	}
	if b[1], err = open(filepath.Join(directory, Name), share); err != nil {
		b[0].close()
	}
	return b, err
}

func (b *bound) there() bool { return b[0].there() && b[1].there() }

func (b *bound) close() {
	for i := range b {
		b[i].close()
	}
}

type opened struct {
	path     string
	inode    uint64
	listener *net.UnixListener
}

// MakeDirectory makes the directory of a user's socket and lock. Everyone can read root's directory;
// only its owner can read any other.
func MakeDirectory(directory string) error {
	if directory == RootDirectory {
		return install.Shared(directory)
	}
	return install.Directory(directory, 0o700)
}

// backlog limits the connections that wait to be accepted. The kernel refuses more (EAGAIN).
const backlog = 256

// open replaces a socket. No process can connect before mode and group are set.
func open(path string, share Share) (opened, error) {
	fail := func(what string, err error) (opened, error) {
		return opened{}, fmt.Errorf("socket: %s %s: %w", what, path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail("remove", err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fail("make", err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }() // FileListener has a copy
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return fail("bind", err)
	}
	if err := share.apply(path); err != nil {
		return fail("share", err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return fail("listen on", err)
	}
	listener, err := net.FileListener(file)
	if err != nil {
		return fail("listen on", err)
	}
	l, ok := listener.(*net.UnixListener)
	if !ok {
		return fail("listen on", errors.Join(errors.New("not a Unix socket"), listener.Close()))
	}
	l.SetUnlinkOnClose(false)
	b := opened{path: path, listener: l}
	if b.inode, err = inodeOf(path); err != nil {
		return fail("stat", errors.Join(err, l.Close()))
	}
	return b, nil
}

func inodeOf(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return st.Ino, err
}

// there reports whether the path still leads to the socket: systemd empties XDG_RUNTIME_DIR at the
// last logout of a user.
func (b *opened) there() bool {
	inode, err := inodeOf(b.path)
	return err == nil && inode == b.inode
}

// close stops listening, and removes the path if it still leads to the socket.
func (b *opened) close() {
	if b.there() {
		_ = os.Remove(b.path) // the next daemon replaces it
	}
	_ = b.listener.Close() // nothing was written to it
}
