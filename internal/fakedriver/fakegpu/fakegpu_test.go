//go:build linux

package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/needs"

	"github.com/creack/pty"

	"vramscope/internal/fakedriver"
)

// fakeGPU returns a command that runs scripts/fake-gpu in an unrelated directory.
func fakeGPU(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	fakedriver.Build(t, fakedriver.Current) // skips if it cannot be built
	script, err := filepath.Abs("../../../scripts/fake-gpu")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script, arguments...)
	cmd.Dir = t.TempDir()
	return cmd
}

func status(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// eventually waits for something that another process does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestStatusIsTheCommands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		arguments []string
		status    int
		says      string
	}{
		{[]string{"--", "sh", "-c", "exit 7"}, 7, ""},
		{[]string{"--gpus", "0", "--", "true"}, 0, ""},
		{[]string{"--", "no-such-command"}, 127, "no-such-command: command not found"},
		{[]string{"--", "/dev/null"}, 126, "/dev/null: permission denied"},
		{[]string{}, 2, "no command to run"},
		{[]string{"--gpus", "many", "--", "true"}, 2, "invalid value"},
		{[]string{"--gpus", "65", "--", "true"}, 2, "from 0 to 64"},
		{[]string{"--mig", "--mixed", "--", "true"}, 2, "two different boxes"},
		{[]string{"--driver", "r1", "--", "true"}, 2, "--driver r1"},
		{[]string{"--state", "/no/such/directory/state", "--", "true"}, 1, "no such file or directory"},
	} {
		var says bytes.Buffer
		cmd := fakeGPU(t, test.arguments...)
		cmd.Stderr = &says
		if got := status(cmd.Run()); got != test.status || !strings.Contains(says.String(), test.says) {
			t.Errorf("%q: status %d, want %d; it says %q, want %q", test.arguments, got, test.status, says.String(), test.says)
		}
	}
}

func TestProcessesLiveAsLongAsTheCommand(t *testing.T) {
	t.Parallel()
	cmd := fakeGPU(t, "--gpus", "2", "--processes", "3", "--", "sh", "-c", `echo "$VRAMSCOPE_FAKE_STATE"; cat`)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, err := output.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	state := strings.TrimSpace(string(line[:n]))
	pids := pidsIn(t, state)
	if len(pids) != 6 {
		t.Fatalf("%d processes in the state, want 6", len(pids))
	}
	for _, pid := range pids {
		if command, err := os.ReadFile("/proc/" + pid + "/cmdline"); err != nil || len(command) == 0 {
			t.Errorf("process %s: %q, %v", pid, command, err)
		}
	}

	// A killed process leaves its GPU.
	var victim int
	if _, err := fmt.Sscan(pids[4], &victim); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(victim, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the killed process leaves the state", func() bool { return len(pidsIn(t, state)) == 5 })

	_ = input.Close() // ends cat
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		eventually(t, "process "+pid+" ends", func() bool { return !exists("/proc/" + pid) })
	}
	eventually(t, "the state is removed", func() bool { return !exists(filepath.Dir(state)) })
}

func pidsIn(t *testing.T, state string) []string {
	t.Helper()
	text, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, match := range regexp.MustCompile(`(?m)^process C pid=(\d+) `).FindAllStringSubmatch(string(text), -1) {
		pids = append(pids, match[1])
	}
	return pids
}

// fake-gpu becomes the command, so signals and the terminal are the command's own.
func TestItBecomesTheCommand(t *testing.T) {
	t.Parallel()
	cmd := fakeGPU(t, "--gpus", "1", "--processes", "1", "--", "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is the command", func() bool {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		return err == nil && string(name) == "sleep\n"
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v, want SIGTERM", err)
	}

	cmd = fakeGPU(t, "--gpus", "1", "--", "sh", "-c", "test -t 0 && test -t 1 && stty size")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 33, Cols: 99})
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(terminal) // reading from a terminal fails when its other side is closed
	if err := cmd.Wait(); err != nil || strings.TrimSpace(string(said)) != "33 99" {
		t.Errorf("on a terminal it says %q and ends with %v", said, err)
	}
	_ = terminal.Close()
}

func TestStateOfOnesOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	if err := fakeGPU(t, "--mixed", "--state", path, "--", "true").Run(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "mig_mode 1") {
		t.Fatalf("the box was not written: %v", err)
	}
	out, err := fakeGPU(t, "--state", path, "--", "sh", "-c", `echo "$VRAMSCOPE_FAKE_STATE"`).Output()
	if err != nil || strings.TrimSpace(string(out)) != path {
		t.Errorf("a state that is there: %q, %v", out, err)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, text) {
		t.Errorf("it was changed: %v", err)
	}
	if got := status(fakeGPU(t, "--state", path, "--live", "--", "true").Run()); got != 2 {
		t.Errorf("--live over a state that is there: status %d, want 2", got)
	}
}

func TestLiveMoves(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	cmd := fakeGPU(t, "--gpus", "1", "--live", "--state", path, "--", "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its error says that the command was killed
	})
	seen := map[string]bool{}
	used := regexp.MustCompile(`(?m)^memory_used \d+$`)
	eventually(t, "three different figures of used memory", func() bool {
		text, err := os.ReadFile(path)
		if err == nil {
			seen[used.FindString(string(text))] = true
		}
		return len(seen) >= 3
	})
}

// A CUDA program runs unchanged: it allocates, and is in NVML's list.
func TestCUDAProgramsRunOnTheBox(t *testing.T) {
	t.Parallel()
	python := needs.Tool(t, "python3")
	program, err := filepath.Abs("../testdata/cuda.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := fakeGPU(t, "--gpus", "1", "--processes", "0", "--", python, program)
	cmd.Stdin = strings.NewReader("start\nalloc 1073741824\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	free := fakedriver.H100(0).Free - 500<<20
	want := fmt.Sprintf("%d %d %[2]d\n%d %d %[4]d\n", 500<<20, free, 500<<20+1<<30, free-1<<30)
	if string(out) != want {
		t.Errorf("%s, want %s", out, want)
	}
}
