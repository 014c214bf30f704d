package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
)

// The names of the sockets in their directory. Only root and the daemon's user can connect to
// OwnName: a flood of connections from other users does not delay them.
const (
	Name    = "daemon.sock"
	OwnName = "owner.sock"
)

// RootDirectory is the directory of the socket of root's daemon.
const RootDirectory = "/run/vramscope"

// Directory returns the directory of the socket and the lock of a user's daemon. runtime is the
// user's XDG_RUNTIME_DIR, or "".
func Directory(uid int, runtime string) string {
	if uid == 0 {
		return RootDirectory
	}
	for _, base := range []string{runtime, "/run/user/" + strconv.Itoa(uid)} {
		var st unix.Stat_t
		if filepath.IsAbs(base) && unix.Lstat(base, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == uid {
			return filepath.Join(base, "vramscope")
		}
	}
	return "/tmp/vramscope-" + strconv.Itoa(uid)
}

// maxPath is the longest path of a Unix socket.
// Source: https://man7.org/linux/man-pages/man7/unix.7.html
const maxPath = 107

// checkPlace refuses a directory that is not the owner's, that others can change, or whose path is too long.
func checkPlace(directory string, owner uint32) error {
	var st unix.Stat_t
	if err := unix.Lstat(directory, &st); err != nil {
		return fmt.Errorf("%s: %w", directory, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is a symbolic link, or not a directory: refused", directory)
	case st.Uid != owner:
		return fmt.Errorf("%s belongs to user %d, not to user %d: refused", directory, st.Uid, owner)
	case st.Mode&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %04o): refused; chmod go-w it", directory, st.Mode&0o7777)
	case len(filepath.Join(directory, Name)) > maxPath:
		return fmt.Errorf("%s is too long for the path of a socket", directory)
	}
	return nil
}

// connectTime is how long a client tries again while the backlog is full.
const connectTime = time.Second

// dial connects to the socket of a daemon of owner, and to no other.
func dial(ctx context.Context, directory string, owner uint32) (*net.UnixConn, error) {
	if err := checkPlace(directory, owner); err != nil {
		return nil, err
	}
	if uid := uint32(os.Geteuid()); uid == 0 || uid == owner {
		conn, err := dialSocket(filepath.Join(directory, OwnName), owner)
		if !Absent(err) { // a daemon of an older version has one socket
			return conn, err
		}
	}
	for end := time.Now().Add(connectTime); ; {
		conn, err := dialSocket(filepath.Join(directory, Name), owner)
		if !errors.Is(err, syscall.EAGAIN) || ctx.Err() != nil || time.Now().After(end) {
			return conn, err
		}
		time.Sleep(time.Millisecond)
	}
}

func dialSocket(path string, owner uint32) (*net.UnixConn, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || st.Uid != owner {
		return nil, fmt.Errorf("%s is not a socket of user %d: refused", path, owner)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno
		}
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	peer, err := process.Peer(conn)
	if err == nil && peer.Uid != owner {
		err = fmt.Errorf("%s is served by user %d, not by user %d: refused", path, peer.Uid, owner)
	}
	if err != nil {
		_ = conn.Close() // nothing was sent
		return nil, err
	}
	return conn, nil
}

// Absent reports whether an error means that no daemon runs, or that none shares with this user. Both
// are usual and need no message.
func Absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrPermission)
}

// Share says which users, besides root and the daemon's user, may read numbers, by the mode and the
// group of the socket.
type Share struct {
	mode  os.FileMode
	group int // -1: the daemon's own
}

// ParseShare reads "none", "all" or "group:NAME".
func ParseShare(value string) (Share, error) {
	switch value {
	case "", "none":
		return Share{0o600, -1}, nil
	case "all":
		return Share{0o666, -1}, nil
	}
	name, named := strings.CutPrefix(value, "group:")
	if !named {
		return Share{}, fmt.Errorf("share: %q is neither none, nor all, nor group:NAME", value)
	}
	found, err := user.LookupGroup(name)
	if err != nil {
		return Share{}, fmt.Errorf("share: there is no group %q: %w", name, err)
	}
	id, err := strconv.Atoi(found.Gid)
	if err != nil {
		return Share{}, fmt.Errorf("share: group %q: %w", name, err)
	}
	return Share{0o660, id}, nil
}

// apply gives the socket the share's mode and group.
func (s Share) apply(path string) error {
	if s.group >= 0 {
		if err := os.Lchown(path, -1, s.group); err != nil {
			return fmt.Errorf("share: %w", err)
		}
	}
	return os.Chmod(path, s.mode) // only its owner can write the directory: no other user can put a link there
}

// open reports whether others may connect at all.
func (s Share) open() bool { return s.mode&0o066 != 0 }
