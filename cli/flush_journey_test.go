//go:build linux && cgo

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/internal/quantity"
)

// cached waits until a process's probe reports enough cached memory for a flush.
func (b *probeBox) cached(pid int) {
	b.Helper()
	const least = 32 * quantity.MiB
	if !eventually(func() bool { returns, ok := b.returnable(pid); return ok && returns >= least }) {
		b.Fatalf("PID %d never caches %s", pid, least)
	}
}

// returnable returns the bytes that a flush of a process would free, by vramscope once.
func (b *probeBox) returnable(pid int) (quantity.Bytes, bool) {
	b.Helper()
	out, err := b.command("once", "--format", "json").Output()
	if err != nil {
		b.Fatalf("once: %v", err)
	}
	var doc struct {
		GPUs []struct {
			Processes []struct {
				PID        int             `json:"pid"`
				Returnable *quantity.Bytes `json:"returnable_bytes"`
			} `json:"processes"`
		} `json:"gpus"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		b.Fatal(err)
	}
	for _, gpu := range doc.GPUs {
		for _, p := range gpu.Processes {
			if p.PID == pid && p.Returnable != nil {
				return *p.Returnable, true
			}
		}
	}
	return 0, false
}

// flush flushes a process and returns the JSON that it prints.
func (b *probeBox) flush(pid int) []byte {
	b.Helper()
	out, err := b.command("flush", strconv.Itoa(pid), "--level", "urgent", "--yes", "--format", "json").Output()
	if err != nil {
		b.Fatalf("flush: %v\n%s", err, out)
	}
	return out
}

// TestFlushOfAProcessThatAnswersLate: a flush waits longer for the process's probe than a sample
// does, because a busy machine delays it.
func TestFlushOfAProcessThatAnswersLate(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start("--pattern", "steady", "--size", "1GiB")
	b.cached(p.cmd.Process.Pid)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(600*time.Millisecond, func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) })
	b.flush(p.cmd.Process.Pid)
}

// withTerminal returns the environment of the box for a terminal.
func (b *probeBox) withTerminal() []string {
	return append(slices.Clone(b.environ), "TERM=xterm-256color")
}

// question is longer than a question must stand before y counts as an answer.
const question = 400 * time.Millisecond

// TestFlushKeyFreesMemory: F frees the cached memory that the screen shows, and the driver's figure falls.
func TestFlushKeyFreesMemory(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start("--pattern", "steady", "--size", "1GiB")
	pid := p.cmd.Process.Pid
	b.cached(pid)
	s := onScreen(t, b.withTerminal(), os.Args[0], "--interval", "200ms")
	s.until("CUDA    ", strconv.Itoa(pid))
	s.press("jF")
	s.until("Flush: free cached memory", "PID "+strconv.Itoa(pid), "frees about", "about ")
	before, _ := b.used(pid)
	s.press("\r\r") // Enter is no answer
	time.Sleep(question)
	s.press("y")
	s.until("flushed "+strconv.Itoa(pid)+": ", "freed ", "driver says -", "  ok")
	if after, _ := b.used(pid); after >= before {
		t.Errorf("the driver says %s before and %s after", before, after)
	}
	s.press("E")
	s.until("Events", "flushed: ", "driver says -")
	s.press("q")
	s.press("q")
	s.ended()
	if !p.flushed() {
		t.Error("the process was never flushed")
	}
	p.end(syscall.SIGTERM, command.ExitOK)
	b.logged(pid, "key F", "begin", "flushed")
}

// logged checks the outcomes that the audit log has for a process.
func (b *probeBox) logged(pid int, why string, want ...string) {
	b.Helper()
	content, err := os.ReadFile(filepath.Join(b.home, "vramscope", action.LogName))
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(content)) {
		var e action.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			b.Fatal(err)
		}
		if e.PID == pid && e.Why == why && e.Target != "" && len(e.Command) > 0 {
			got = append(got, e.Outcome)
		}
	}
	if !slices.Equal(got, want) {
		b.Errorf("the audit log has %v of PID %d by %s, want %v:\n%s", got, pid, why, want, content)
	}
}

func TestSignalKeyIsLogged(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start("--pattern", "steady", "--size", "256MiB")
	pid := p.cmd.Process.Pid
	s := onScreen(t, b.withTerminal(), os.Args[0], "--interval", "200ms")
	s.until("CUDA    ", strconv.Itoa(pid))
	s.press("jx")
	s.until("Send a signal", "PID "+strconv.Itoa(pid))
	time.Sleep(question)
	s.press("y")
	s.until("sent SIGTERM to " + strconv.Itoa(pid))
	s.press("q")
	s.ended()
	b.logged(pid, "key x", "begin", "sent")
}

func TestFlushIsRefusedWithoutAuditLog(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start("--pattern", "steady", "--size", "1GiB")
	pid := p.cmd.Process.Pid
	b.cached(pid)
	if err := os.Symlink(t.TempDir(), filepath.Join(b.home, "vramscope")); err != nil {
		t.Fatal(err)
	}
	cmd := b.command("flush", strconv.Itoa(pid), "--yes")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != command.ExitRefused ||
		!strings.Contains(string(out), "is a symbolic link") || !strings.Contains(string(out), "set XDG_STATE_HOME") {
		t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), out)
	}
	if out, _ := b.command("doctor").Output(); !strings.Contains(string(out), "  no  audit log  ") {
		t.Errorf("doctor says\n%s", out)
	}
	if p.flushed() {
		t.Error("it was flushed")
	}
	p.end(syscall.SIGTERM, command.ExitOK)
}

func TestProcessThatEndsDuringTheQuestionIsNotFlushed(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start("--pattern", "steady", "--size", "1GiB")
	b.cached(p.cmd.Process.Pid)
	s := onScreen(t, b.withTerminal(), os.Args[0], "--interval", "200ms")
	s.until("CUDA    ", strconv.Itoa(p.cmd.Process.Pid))
	s.press("jF")
	s.until("Flush: free cached memory")
	p.end(syscall.SIGKILL, -1)
	s.until("Cannot flush", "it has ended")
	time.Sleep(question)
	s.press("y")
	s.press("\x1b")
	s.until("? help") // with a key right after it, Esc would be Alt and that key
	s.press("q")
	s.ended()
}

// TestFlushAsksOnATerminal: flush asks, and accepts only a yes.
func TestFlushAsksOnATerminal(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start("--pattern", "steady", "--size", "1GiB")
	pid := strconv.Itoa(p.cmd.Process.Pid)
	b.cached(p.cmd.Process.Pid)
	for answer, want := range map[string]struct {
		text string
		code int
	}{
		"\n":    {"refused: you did not say yes; nothing was done", command.ExitRefused},
		"n\n":   {"refused: you did not say yes; nothing was done", command.ExitRefused},
		"\x04":  {"refused: you did not say yes; nothing was done", command.ExitRefused},
		"yes\n": {"flushed " + pid + ": ", command.ExitOK},
	} {
		if want.code == command.ExitOK {
			b.cached(p.cmd.Process.Pid)
		}
		s := b.asked(t, pid)
		s.until("PID "+pid, "CUDA", "a flush frees")
		s.press(answer)
		s.until(want.text)
		_ = s.cmd.Wait() // its code is what matters
		if got := s.cmd.ProcessState.ExitCode(); got != want.code {
			t.Errorf("%q: exit code %d, want %d\n%s", answer, got, want.code, s.text())
		}
	}
	p.end(syscall.SIGTERM, command.ExitOK)
}

// asked starts vramscope flush, and returns its screen when it waits for an answer. If the probe
// does not answer in time, flush refuses and is started again.
func (b *probeBox) asked(t *testing.T, pid string) *screen {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); ; {
		s := onScreen(t, b.withTerminal(), os.Args[0], "flush", pid)
		for shown := ""; !strings.Contains(shown, "refused"); shown = s.text() {
			if strings.Contains(shown, "Flush it (gradual)? [y/N]") {
				return s
			}
			if time.Now().After(deadline) {
				t.Fatalf("it does not ask:\n%s", shown)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func TestFlushReportsDriverDrop(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 2)
	p := b.start("--pattern", "steady", "--size", "1GiB", "--gpu", "1")
	pid := p.cmd.Process.Pid
	b.cached(pid)
	out := b.flush(pid)
	var doc struct {
		Flush struct {
			PID     int            `json:"pid"`
			Outcome string         `json:"outcome"`
			Freed   quantity.Bytes `json:"freed_bytes"`
			Devices []struct {
				GPU          *int            `json:"gpu"`
				UUID         string          `json:"uuid"`
				Freed        quantity.Bytes  `json:"freed_bytes"`
				DriverOf     string          `json:"driver_of"`
				DriverBefore *quantity.Bytes `json:"driver_before_bytes"`
				DriverAfter  *quantity.Bytes `json:"driver_after_bytes"`
				DriverFreed  *quantity.Bytes `json:"driver_freed_bytes"`
			} `json:"devices"`
		} `json:"flush"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	f := doc.Flush
	if f.PID != pid || f.Outcome != "flushed" || f.Freed <= 0 || len(f.Devices) != 1 {
		t.Fatalf("it says %s", out)
	}
	d := f.Devices[0]
	if d.GPU == nil || *d.GPU != 1 || d.UUID != b.state.GPUs[1].UUID || d.DriverOf != "process" || d.DriverBefore == nil || d.DriverAfter == nil {
		t.Fatalf("it says %s", out)
	}
	// The process continues meanwhile, and can have taken a block or two again.
	if fell := *d.DriverBefore - *d.DriverAfter; fell != *d.DriverFreed || fell <= 0 || fell > f.Freed {
		t.Errorf("freed %d, the driver's figure fell by %d", f.Freed, fell)
	}
	p.end(syscall.SIGTERM, command.ExitOK)
	if log, err := os.ReadFile(filepath.Join(b.home, "vramscope", action.LogName)); err != nil || !strings.Contains(string(log), `"why":"vramscope flush"`) {
		t.Errorf("the audit log is %q, %v", log, err)
	}
}

// TestRefusedPIDIsLogged: a refusal is logged even if no process has that PID, or the process is on
// no GPU.
func TestRefusedPIDIsLogged(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	mine := strconv.Itoa(os.Getpid())
	for _, args := range [][]string{
		{"flush", "99999999", "--dry-run"}, {"attach", "99999999", "--dry-run"}, // are not logged
		{"flush", "99999999", "--yes"}, {"attach", "99999999", "--yes"}, {"flush", mine, "--yes"},
	} {
		cmd := b.command(args...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != command.ExitRefused {
			t.Errorf("%v: exit code %d: %s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
	log, err := os.ReadFile(filepath.Join(b.home, "vramscope", action.LogName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	for i, want := range []string{
		`"action":"flush","outcome":"refused",.*"why":"vramscope flush","pid":99999999,"command":\[\],"reason":"there is no process 99999999 in this /proc"}`,
		`"action":"attach","outcome":"refused",.*"why":"vramscope attach","pid":99999999,"command":\[\],"reason":"there is no process 99999999 in this /proc"}`,
		`"action":"flush","outcome":"refused",.*"pid":` + mine + `,"start_time_ticks":[1-9].*"command":\[".+"reason":"PID ` + mine + ` is on no GPU"}`,
	} {
		if len(lines) != 3 || !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %d of %d is\n%s\nwant\n%s", i, len(lines), lines[min(i, len(lines)-1)], want)
		}
	}
}

func TestFlushKeyInTheDemo(t *testing.T) {
	t.Parallel()
	s := onScreen(t, nil, os.Args[0], "--demo", "--seed", "3")
	s.until("SIMULATED", "dlrm.py")
	s.press("/")
	s.press("dlrm.py\r")
	s.until(">  4 2701455 dave")
	s.press("F")
	s.until("PID 2701455  dave  dlrm.py", "in one step: PyTorch cannot free a part")
	s.press("d")
	s.until("dry run 2701455: ", "would free ", "Flush: free cached memory")
	time.Sleep(question)
	s.press("y")
	s.until("flushed 2701455: ", "driver says -", "  ok")
	s.press("F")
	s.until("PID 2701455 ")
	s.press("q")
	s.press("q")
	s.ended()
}

func TestFlushIsLoggedWhenTheMonitorEnds(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 1)
	p := b.start("--pattern", "steady", "--size", "1GiB")
	pid := p.cmd.Process.Pid
	b.cached(pid)
	s := onScreen(t, b.withTerminal(), os.Args[0], "--interval", "200ms")
	s.until("CUDA    ", strconv.Itoa(pid))
	s.press("jF")
	s.until("Flush: free cached memory", "in steps; Esc stops")
	time.Sleep(question)
	s.press("y")
	s.until("flushing " + strconv.Itoa(pid) + ": step 1 of 4")
	s.press("q")
	s.ended()
	b.logged(pid, "key F", "begin", "stopped")
	p.end(syscall.SIGTERM, command.ExitOK)
}
