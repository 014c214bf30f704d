//go:build linux

package attach

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSimultaneousAttaches: one of four attaches succeeds, and the others say why they do not.
func TestSimultaneousAttaches(t *testing.T) {
	times, _ := strconv.Atoi(os.Getenv(rounds)) // 0 if it is not set
	for version, python := range anyPythons(t) {
		for round := range max(times, 1) {
			name := []string{"churn", "threads", "sleeping", "loop"}[round%4]
			t.Run(version+"/"+name, func(t *testing.T) {
				p := runTarget(t, python, name)
				outcomes := make(chan string)
				const attaches = 4
				for range attaches {
					go func() {
						cmd := exec.Command(os.Args[0])
						cmd.Env = append(os.Environ(), asAttacher+"="+strconv.Itoa(p.pid()))
						out, err := cmd.CombinedOutput()
						outcomes <- strings.TrimPrefix(strings.TrimSpace(string(out)), "refused: ") + map[bool]string{false: fmt.Sprint(err)}[err == nil]
					}()
				}
				count := make(map[string]int)
				for range attaches {
					count[<-outcomes]++
				}
				others := count["another vramscope attaches to it at this moment"] + count[hasProbe]
				for outcome, n := range count {
					if strings.HasPrefix(outcome, "it is traced by gdb (PID ") {
						others += n
					}
				}
				if count["<nil>"] != 1 || others != attaches-1 || probesIn(t, p.pid()) != 1 {
					t.Errorf("%v; %d probes", count, probesIn(t, p.pid()))
				}
				p.mustBeWell()
				p.mustEndWell()
			})
		}
	}
}

// probesIn counts the threads of a process that belong to a probe.
func probesIn(t *testing.T, pid int) int {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		if content, err := os.ReadFile(name); err == nil && string(content) == "vramscope\n" {
			n++
		}
	}
	return n
}

// TestSimultaneousPayloads: only one probe starts even without Attacher.lock, which a vramscope with
// another /proc does not see.
func TestSimultaneousPayloads(t *testing.T) {
	for version, python := range anyPythons(t) {
		p, err := newPayload(false, &status{}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer p.remove()
		cmd := exec.Command(python, "-c", `
import os, sys, threading, time
text, directory = sys.stdin.read(), sys.argv[1]
sys.setswitchinterval(1e-6)
class Claims:  # each has one
    def unlink(self, path): pass
    def __getattr__(self, name): return getattr(self.posix, name)
Claims.posix, sys.modules["posix"] = sys.modules["posix"], Claims()
together = threading.Barrier(8)
every = [threading.Thread(target=lambda: (together.wait(), exec(text, {})), daemon=True) for _ in range(8)]
for t in every: t.start()
deadline = time.time() + 60
while sum(t.is_alive() for t in every) > 1 and time.time() < deadline: time.sleep(.01)  # one is the probe's
def probes():
    n = 0
    for t in os.listdir("/proc/self/task"):
        try: n += open("/proc/self/task/%s/comm" % t).read() == "vramscope\n"
        except OSError: pass  # it has ended
    return n
while not probes() and time.time() < deadline: time.sleep(.01)
time.sleep(.2)
print(probes())`, p.directory)
		cmd.Stdin = strings.NewReader(p.text)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "PYTHONPATH=")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "1\n" {
			t.Errorf("Python %s: %v, %s", version, err, out)
		}
	}
}

// TestAttachLeavesNoWarning: with Python's strictest settings nothing is reported, not even at the
// program's end.
func TestAttachLeavesNoWarning(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	for version, python := range anyPythons(t) {
		t.Run(version, func(t *testing.T) {
			p := runTarget(t, python, "churn", "PYTHONDEVMODE=1", "PYTHONWARNINGS=error", "PYTHONTRACEMALLOC=5")
			if _, err := examineAndEnter(t.Context(), testAttacher(), identify(t, p.pid())); err != nil {
				t.Error(err)
			}
			p.mustBeWell()
			p.mustEndWell()
		})
	}
}

// TestEndOfProcessIsNoticed: an exited process remains as a zombie, with its start time.
func TestEndOfProcessIsNoticed(t *testing.T) {
	t.Parallel()
	for _, python := range needGdb(t) {
		p := runTarget(t, python, "power")
		a := testAttacher()
		plan := a.Examine(t.Context(), identify(t, p.pid()))
		if !plan.Possible() {
			t.Fatal(plan.Refusal())
		}
		load, err := newPayload(false, &status{}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer load.remove()
		if err := syscall.Kill(p.pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until(t, "its end", func() bool {
			s, err := readStatus(t.Context(), "/proc", strconv.Itoa(p.pid()))
			return err == nil && s.state == 'Z'
		})
		if _, err := a.await(t.Context(), &plan, load); !errors.Is(err, errExited) {
			t.Errorf("waiting for the probe: %v", err)
		}
		if _, err := a.Enter(t.Context(), &plan); !errors.Is(err, errExited) {
			t.Errorf("by gdb: %v", err)
		}
		return
	}
}

// TestOneThreadIsNoted: with a probe there are two threads, and the kernel refuses what only a
// process with one thread can do.
func TestOneThreadIsNoted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	t.Parallel()
	for version, python := range anyPythons(t) {
		p := runTarget(t, python, "alone")
		a := testAttacher()
		plan := a.Examine(t.Context(), identify(t, p.pid()))
		if want := "it has one thread: with a probe it cannot enter or make a user namespace (setns, unshare)"; plan.Note != want {
			t.Errorf("Python %s: note %q", version, plan.Note)
		}
		if _, err := a.Enter(t.Context(), &plan); err != nil {
			t.Fatalf("Python %s: %v", version, err)
		}
		if plan := a.Examine(t.Context(), identify(t, p.pid())); plan.Note != "" {
			t.Errorf("Python %s: with the probe: note %q", version, plan.Note)
		}
		p.mustEndWell()
		return
	}
}

// TestFullDirectoryIsReported: a full directory is reported before gdb stops the process. Otherwise
// gdb could not write an answer, and the process would stay stopped.
func TestFullDirectoryIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		t.Skipf("mount: %v", err)
	}
	defer func() { _ = unix.Unmount(small, unix.MNT_DETACH) }() // the test's end
	for _, python := range anyPythons(t) {
		p := runTarget(t, python, "sleeping")
		t.Setenv("TMPDIR", small)
		_ = os.WriteFile(filepath.Join(small, "fill"), make([]byte, 256<<10), 0o600) // until it is full
		if _, err := examineAndEnter(t.Context(), testAttacher(), identify(t, p.pid())); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("got %v", err)
		}
		p.mustBeWell()
		p.mustEndWell()
		return
	}
}
