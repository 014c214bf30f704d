package probetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var squatted atomic.Int32

// Squatted returns a user whose usual directory in /tmp exists and is refused. The user exists in a
// user namespace. A program of this user without XDG_RUNTIME_DIR can serve only in a spare
// directory, whose path begins with prefix.
func Squatted(t *testing.T) (user *syscall.SysProcAttr, prefix string) {
	t.Helper()
	uid := 3_000_000_000 + os.Getpid()*16 + int(squatted.Add(1))
	user = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getgid(), Size: 1}},
	}
	try := exec.Command("true")
	try.SysProcAttr = user
	if err := try.Run(); err != nil {
		t.Skipf("no user namespace can be made here: %v", err)
	}
	path := fmt.Sprintf("/tmp/vramscope-%d", uid)
	err := os.Mkdir(path, 0o755) // refused for its mode
	if err == nil && os.Geteuid() == 0 {
		err = os.Chown(path, 12345, 12345) // and for its owner
	}
	t.Cleanup(func() {
		spares, _ := filepath.Glob(path + "-*") // the pattern is valid
		for _, made := range append(spares, path) {
			_ = os.RemoveAll(made) // only this test's
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return user, path + "-"
}

// SpareSocket waits for the socket of a program of the user from Squatted, and checks that only that
// user can open the directory.
func SpareSocket(t *testing.T, prefix string) string {
	t.Helper()
	for range 600 {
		// A socket exists before it is listened on.
		if found, err := filepath.Glob(prefix + "*/*.sock"); err == nil && len(found) == 1 {
			if conn, err := net.Dial("unix", found[0]); err == nil {
				_ = conn.Close() // nothing was sent
				if info, err := os.Stat(filepath.Dir(found[0])); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("its directory: %v, %v", info, err)
				}
				return found[0]
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("no probe serves in %s*", prefix)
	return ""
}
