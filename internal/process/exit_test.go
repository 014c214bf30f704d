package process

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestExit: a process has no status while it runs, and its own when it has ended, even when it is
// gone. The processes here are children of the test, which Exit does not require.
func TestExit(t *testing.T) {
	for script, want := range map[string]syscall.WaitStatus{
		"read _; exit 3":     3 << 8,
		"read _; kill $$":    syscall.WaitStatus(syscall.SIGTERM),
		"read _; kill -9 $$": syscall.WaitStatus(syscall.SIGKILL),
	} {
		command := exec.Command("sh", "-c", script)
		input, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		table, now := NewTable("/proc"), time.Now()
		var id Identity
		look := func() {
			table.Processes(now, []int{command.Process.Pid}, func(info *Info) { id = info.Identity })
			now = now.Add(2 * time.Second)
		}
		look()
		if _, known := table.Exit(id); known {
			t.Error("a process that was looked up once has ended")
		}
		look()
		if status, known := table.Exit(id); known {
			t.Errorf("a process that runs has ended with %d", status)
		}
		_ = input.Close()
		_ = command.Wait()
		status, known := table.Exit(id)
		if !known && !tellsExits() {
			t.Skip("Linux before 6.15")
		}
		if !known || status != want {
			t.Errorf("%s: status %d, known %v, want %d", script, status, known, want)
		}
		look() // now the process is gone
		if again, known := table.Exit(id); !known || again != want {
			t.Errorf("%s: after it is gone status %d, known %v, want %d", script, again, known, want)
		}
		id.StartTime++
		if _, known := table.Exit(id); known {
			t.Error("another process with its pid has ended as it did")
		}
	}
}

// tellsExits reports whether the kernel shows how a process ended after its parent has waited for it.
func tellsExits() bool {
	command := exec.Command("true")
	if command.Start() != nil {
		return false
	}
	fd, err := unix.PidfdOpen(command.Process.Pid, 0)
	_ = command.Wait()
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	return unix.IoctlPidfdInfo(fd, &info) == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0
}
