//go:build !linux

package probe

import (
	"errors"
	"net"
	"os"
)

// SnapshotSize is the largest snapshot that a monitor keeps in memory.
const SnapshotSize = 16 << 20

// Probes are found through /proc and verified with SO_PEERCRED, which only Linux
// has.
var errNoLinux = errors.New("probes need Linux")

type directory struct {
	path  string
	uid   uint32
	stamp stamp
}

func makeDirectory(string, uint32) (*directory, error)         { return nil, errNoLinux }
func openDirectory(string, string, uint32) (*directory, error) { return nil, errNoLinux }

func ownerAt(string) (uint32, bool) { return 0, false }

func (d *directory) close()                                   {}
func (d *directory) sockets(int) ([]string, bool, error)      { return nil, false, errNoLinux }
func (d *directory) inode(string) (uint64, error)             { return 0, errNoLinux }
func (d *directory) remove(string) error                      { return errNoLinux }
func (d *directory) reach(name string) string                 { return name }
func (d *directory) listen(string) (*net.UnixListener, error) { return nil, errNoLinux }
func (d *directory) connect(string) (*net.UnixConn, error)    { return nil, errNoLinux }

func peerOf(*net.UnixConn) (int, uint32, error) { return 0, 0, errNoLinux }

func receive(conn *net.UnixConn, buffer []byte) (int, []*os.File, error) {
	n, err := conn.Read(buffer)
	return n, nil, err
}

func send(*net.UnixConn, []byte, *os.File) error { return errNoLinux }
func newSnapshotFile(int64) (*os.File, error)    { return nil, errNoLinux }
func writable(*os.File) error                    { return errNoLinux }
