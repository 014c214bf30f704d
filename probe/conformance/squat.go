package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

var squatted atomic.Int32

// Squatted is a user whose directory in /tmp another user has taken: a program that
// is started with it, and without XDG_RUNTIME_DIR, can serve in a spare directory
// only. The user lives in a user namespace; prefix is what the paths of the spare
// directories begin with.
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
