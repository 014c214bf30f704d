//go:build linux

package probe

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// ownPID is the pid in "/proc/PID/status".
func ownPID(path string) (int, error) { return strconv.Atoi(filepath.Base(filepath.Dir(path))) }

// readableCopy copies the test binary for another user to run.
func readableCopy(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = self.Close() }()
	path := filepath.Join(dir, "probe.test")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, self); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// commandAs is a child with a role, run as otherUser.
func commandAs(self, role, directory string) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+role, "VRAMSCOPE_TEST_DIRECTORY="+directory)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	return cmd
}

func TestRootConnectsAsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	path := filepath.Join(t.TempDir(), "vramscope")
	for parent := filepath.Dir(path); parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, otherUser, otherUser)); err != nil {
		t.Fatal(err)
	}
	dir, err := openDirectory("/", path, otherUser)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	listener, err := dir.listen("1-1.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := os.Chown(filepath.Join(path, "1-1.sock"), otherUser, otherUser); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		conn, err := dir.connect("1-1.sock")
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := listener.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		if pid, uid, err := peerOf(accepted); err != nil || uid != otherUser || pid != os.Getpid() {
			t.Errorf("the server sees PID %d of user %d, %v", pid, uid, err)
		}
		_ = conn.Close()
		_ = accepted.Close()
	}
	if os.Geteuid() != 0 {
		t.Error("the process is no longer root")
	}
	eventually(t, "all threads are root's again", func() bool { return threadsAre(t, "0\t0\t0\t0") })
}

// threadsAre reports whether all threads have these user IDs.
func threadsAre(t *testing.T, ids string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) == 0 {
		t.Fatal("no threads")
	}
	for _, path := range files {
		status, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(status), "\nUid:\t"+ids+"\n") {
			return false
		}
	}
	return true
}
