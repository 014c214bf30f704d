package process

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Peer returns the process at the other end of a socket: for a server, the one that connected; for
// a client, the one that called listen. Its pid is 0 if it is outside of this pid namespace.
func Peer(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("identify the peer: %w", err)
	}
	var peer *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, fmt.Errorf("identify the peer: %w", err)
	}
	if asked != nil {
		return nil, fmt.Errorf("identify the peer: %w", asked)
	}
	return peer, nil
}
