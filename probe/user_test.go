//go:build linux

package probe

import (
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

// readableCopy is a copy of the test binary that another user may run.
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

// commandAs is a child in the given role and as nobody.
func commandAs(self, role, directory string) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+role, "VRAMSCOPE_TEST_DIRECTORY="+directory)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
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
