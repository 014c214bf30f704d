package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestStatFilesStayOpen holds the table to one open file for each process that it is
// asked for again, and to none for one that has ended or is no longer asked for.
func TestStatFilesStayOpen(t *testing.T) {
	var pids []int
	commands := make([]*exec.Cmd, 2)
	for i := range commands {
		commands[i] = exec.Command("sleep", "600")
		if err := commands[i].Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = commands[i].Process.Kill()
			_ = commands[i].Wait()
		})
		pids = append(pids, commands[i].Process.Pid)
	}
	table := NewTable("/proc")
	for second, want := range []int{0, 2, 2} {
		if found := infos(table, at(float64(second)), pids); len(found) != 2 || table.open != want {
			t.Errorf("second %d: %d processes, %d open files, want 2 and %d", second, len(found), table.open, want)
		}
	}
	file := filepath.Join("/proc/self/fd", strconv.Itoa(table.entries[pids[1]].stat))
	if target, err := os.Readlink(file); err != nil || target != "/proc/"+strconv.Itoa(pids[1])+"/stat" {
		t.Errorf("%s leads to %s: %v", file, target, err)
	}
	_ = commands[0].Process.Kill()
	_ = commands[0].Wait()
	if found := infos(table, at(4), pids); len(found) != 1 || found[pids[1]].Name != "sleep" || table.open != 1 {
		t.Errorf("after one has ended: %+v, %d open files", found, table.open)
	}
	infos(table, at(30), nil)
	if _, err := os.Readlink(file); err == nil || table.open != 0 {
		t.Errorf("nothing is asked for, and %d files are open: %v", table.open, err)
	}
}

// TestFewStatFilesStayOpen: this program needs descriptors for the driver, for probes
// and for files that it writes.
func TestFewStatFilesStayOpen(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) })
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 60, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for range 16 {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		pids = append(pids, cmd.Process.Pid)
	}
	table := NewTable("/proc")
	t.Cleanup(func() { infos(table, at(60), nil) }) // closes them
	for second := range 3 {
		if found := infos(table, at(float64(second)), pids); len(found) != len(pids) {
			t.Errorf("second %d: %d processes of %d", second, len(found), len(pids))
		}
	}
	if table.open != 15 {
		t.Errorf("%d of 60 descriptors are stat files, want 15", table.open)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	if found := infos(table, at(3), pids); len(found) != len(pids) {
		t.Errorf("no descriptor is free: %d processes of %d", len(found), len(pids))
	}
	if found := infos(table, at(4), []int{os.Getpid()}); len(found) != 0 {
		t.Errorf("no descriptor is free for a new process: %+v", found)
	}
}
