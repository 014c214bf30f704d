package process

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestProcessesStayWithoutADescriptor: if too many files are open, the table keeps the processes
// that it knows.
func TestProcessesStayWithoutADescriptor(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pids := []int{cmd.Process.Pid}
	table := NewTable("/proc")
	if found := infos(table, at(0), pids); len(found) != 1 {
		t.Fatalf("%d processes, want 1", len(found))
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) })
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	if found := infos(table, at(1), pids); len(found) != 1 {
		t.Errorf("no descriptor is free: %d processes, want 1", len(found))
	}
	if found := infos(table, at(2), []int{os.Getpid()}); len(found) != 0 {
		t.Errorf("no descriptor is free for a new process: %+v", found)
	}
}
