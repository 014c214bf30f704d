package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
)

// reach returns a path to a name in the directory that fits the 108 bytes of a socket
// address, whatever the length of the directory's own path.
// Source: https://man7.org/linux/man-pages/man7/unix.7.html
func (d *directory) reach(name string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(d.file.Fd())) + "/" + name
}

// connect connects to a socket. Root does so with the rights of the directory's owner. connect
// never waits: it fails if the queue of a stopped server is full.
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

// send writes a line, and passes a descriptor with its first byte.
func send(conn *net.UnixConn, line []byte, file *os.File) error {
	n, _, err := conn.WriteMsgUnix(line, unix.UnixRights(int(file.Fd())), nil)
	if err == nil && n < len(line) {
		_, err = conn.Write(line[n:])
	}
	return err
}

// withRightsOf calls act. Root takes the user's rights for the call, if it can. The user controls
// the path, which then cannot abuse root's rights. The probe sees its own user.
//
// In Linux each thread has its own user and group IDs; only C libraries set them for all threads.
// The real and saved IDs stay root's, so that the user can neither signal nor trace the thread.
func withRightsOf(uid, gid uint32, act func() error) error {
	if uid == 0 || os.Geteuid() != 0 {
		return act()
	}
	result := make(chan error)
	go onOwnThread(func() {
		// takeRights fails for a container's root without CAP_SETUID, and for a user
		// outside this user namespace. A probe accepts root as well.
		_ = takeRights(uid, gid)
		result <- act()
	})
	return <-result
}

// onOwnThread runs act on a thread that ends afterwards. It never uses the main thread, which does
// not end: /proc/self would show the other user for good.
func onOwnThread(act func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		act()
		return // and the locked thread ends
	}
	done := make(chan struct{})
	go func() { // on another thread, because this goroutine holds the main one
		defer close(done)
		onOwnThread(act)
	}()
	<-done
	runtime.UnlockOSThread()
}

const unchanged = ^uintptr(0)

// takeRights changes the effective IDs of this thread. The groups come first:
// once the user ID has changed, the thread may not change them.
func takeRights(uid, gid uint32) error {
	for _, call := range [][4]uintptr{
		{unix.SYS_SETGROUPS, 0, 0, 0},
		{unix.SYS_SETRESGID, unchanged, uintptr(gid), unchanged},
		{unix.SYS_SETRESUID, unchanged, uintptr(uid), unchanged},
	} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	return nil
}

// owner determines a socket's directory and name.
type owner struct {
	uid   uint32 // effective
	nspid int    // in the innermost pid namespace, the process's own
}

// ownerOf reads /proc/PID/status below root.
func ownerOf(root string, pid int) (owner, error) {
	var buf [4 << 10]byte
	status, err := process.ReadProc(root+"/"+strconv.Itoa(pid)+"/status", buf[:], 64<<10)
	if err != nil {
		return owner{}, fmt.Errorf("status of PID %d: %w", pid, err)
	}
	who, err := parseOwner(status)
	if err != nil {
		return owner{}, fmt.Errorf("status of PID %d: %w", pid, err)
	}
	return who, nil
}

// parseOwner finds "Uid:\treal\teffective\t…" and "NSpid:\touter\t…\tinner". The procfs package
// would be too slow for thousands of processes.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
func parseOwner(status []byte) (owner, error) {
	uids, pids := process.StatusFields(status, "Uid"), process.StatusFields(status, "NSpid")
	if len(uids) < 2 || len(pids) == 0 {
		return owner{}, errTruncated // a missing ID must not be read as 0, which is root's
	}
	uid, err := strconv.ParseUint(uids[1], 10, 32)
	if err != nil {
		return owner{}, err
	}
	nspid, err := strconv.ParseUint(pids[len(pids)-1], 10, 32)
	if err != nil {
		return owner{}, err
	}
	return owner{uid: uint32(uid), nspid: int(nspid)}, nil
}

var errTruncated = errors.New("truncated")
