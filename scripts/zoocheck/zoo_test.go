//go:build linux && cgo

package zoocheck

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// zoo runs scripts/zoo with the python3 of the PATH, and returns its output and exit code.
func zoo(t *testing.T, environ []string, vramscope string, arguments ...string) (string, int) {
	t.Helper()
	cmd := zooCommand(t, environ, vramscope, arguments...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func zooCommand(t *testing.T, environ []string, vramscope string, arguments ...string) *exec.Cmd {
	t.Helper()
	version, err := exec.Command("python3", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").Output()
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state")
	fakedriver.Box(1, 0).MustWrite(t, state)
	cmd := exec.Command("python3", append([]string{"../zoo", vramscope, "--pythons", strings.TrimSpace(string(version))}, arguments...)...)
	cmd.Env = append(append(os.Environ(), environ...), fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), state)...)
	return cmd
}

// TestZooCleansUp: the zoo's programs wait for the runner, so without a cleanup they would never end.
func TestZooCleansUp(t *testing.T) {
	needs.Full(t)
	t.Parallel() // it mostly waits
	harmful, err := filepath.Abs("testdata/harmful")
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		directory := t.TempDir()
		// If there is no probe, the program waits until the runner gives up.
		environ := []string{"TMPDIR=" + directory, "ZOO_HARM=nothing", "ZOO_SECONDS=600"}
		cmd := zooCommand(t, environ, harmful, "--ways", "run", "--only", "^job$")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "a program to run", func() bool { return len(programs(directory)) > 0 })
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its error is the signal
		await(t, "its programs to end, and its files to be removed", func() bool {
			left, err := os.ReadDir(directory)
			return err == nil && len(left) == 0 && len(programs(directory)) == 0
		})
	}
}

// programs returns the processes whose environment names something in a directory of the zoo.
func programs(directory string) []string {
	var found []string
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well-formed
	for _, path := range environments {
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), "="+directory+"/zoo-") {
			found = append(found, path)
		}
	}
	return found
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// TestZoo tries the quickest of the programs that have found faults. .ci/run --full tries
// all programs.
func TestZoo(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel() // it mostly waits
	needs.Tool(t, "python3")
	binary := needs.Vramscope(t)
	ways := "run,attach"
	if _, err := exec.LookPath("gdb"); err != nil {
		ways = "run"
	}
	quick := func(ways string) (string, int) {
		return zoo(t, nil, binary, "--ways", ways, "--only",
			"^(-X dev -W error|stdin closed|faulthandler, a thread blocks all signals|flag -I)$")
	}
	out, exit := quick(ways)
	if strings.Contains(out, "Operation not permitted") || strings.Contains(out, "cannot write registers") {
		t.Log("no process can be attached to on this machine")
		out, exit = quick("run")
	}
	if exit != 0 {
		t.Errorf("exit code %d\n%s", exit, out)
	}
}

// TestZooSeesHarm runs the zoo with a vramscope that does harm, each time of another kind.
func TestZooSeesHarm(t *testing.T) {
	needs.Full(t)
	needs.Tool(t, "python3")
	binary := needs.Vramscope(t)
	harmful, err := filepath.Abs("testdata/harmful")
	if err != nil {
		t.Fatal(err)
	}
	for harm, want := range map[string]string{
		"speaks":  "run: stderr +harm",
		"fails":   "run: exit code 3, alone 0",
		"file":    "run: left behind: work/harm",
		"umask":   "run: seen in /proc +Umask: 0077",
		"process": "run: does not end: ",
		"nothing": "run: there is no probe",
		"lies":    "bytes freed by the probe",
	} {
		t.Run(harm, func(t *testing.T) {
			t.Parallel() // it mostly waits
			environ := []string{"ZOO_VRAMSCOPE=" + binary, "ZOO_HARM=" + harm}
			if harm == "process" || harm == "nothing" {
				environ = append(environ, "ZOO_SECONDS=3") // the runner waits for something that never happens
			}
			if out, exit := zoo(t, environ, harmful, "--ways", "run", "--only", "^job$"); exit != 1 || !strings.Contains(out, want) {
				t.Errorf("exit code %d, and not %q in\n%s", exit, want, out)
			}
		})
	}
}
