//go:build linux

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/internal/needs"
)

// attachBox is a running Python process, and vramscope beside it.
type attachBox struct {
	*testing.T
	python *exec.Cmd
	input  *bufio.Writer
	says   *bufio.Reader
	env    []string
	state  string
}

// newAttachBox starts the Python, which answers each line with "still here".
func newAttachBox(t *testing.T) *attachBox {
	t.Helper()
	python := needs.Tool(t, "python3")
	runtime, err := os.MkdirTemp("", "vramscope-test-") // short, because the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // what is left is in the temporary directory
	b := &attachBox{T: t, state: filepath.Join(t.TempDir(), "state")}
	b.env = append(os.Environ(), asVramscope+"=1", "XDG_RUNTIME_DIR="+runtime, "XDG_STATE_HOME="+b.state, "LC_ALL=C.UTF-8", "PYTHONPATH=")
	b.python = exec.Command(python, "-c", "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: print('still here', flush=True)")
	b.python.Env = b.env
	input, err := b.python.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := b.python.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.input, b.says = bufio.NewWriter(input), bufio.NewReader(output)
	if err := b.python.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.python.Process.Kill() // it has ended already, or ends now
		_ = b.python.Wait()         // likewise
	})
	b.waitsFor("ready")
	return b
}

func (b *attachBox) waitsFor(want string) {
	b.Helper()
	line, err := b.says.ReadString('\n')
	if strings.TrimSpace(line) != want {
		b.Fatalf("Python says %q, %v, want %q", line, err, want)
	}
}

// vramscope runs a command, with the Python's PID for the word PID.
func (b *attachBox) vramscope(args ...string) (output string, code int) {
	b.Helper()
	for i := range args {
		if args[i] == "PID" {
			args[i] = strconv.Itoa(b.python.Process.Pid)
		}
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		b.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// cannotTrace reports whether attaching failed because of this machine.
func cannotTrace(output string) bool {
	return strings.Contains(output, "Operation not permitted") || strings.Contains(output, "cannot write registers")
}

// TestAttachFromTheCommandLine: after the attach the program continues, and each attempt is in the audit log.
func TestAttachFromTheCommandLine(t *testing.T) {
	t.Parallel()
	b := newAttachBox(t)
	out, code := b.vramscope("attach", "PID", "--dry-run")
	if code != command.ExitOK {
		t.Skipf("this machine's Python can get no probe: %s", out)
	}
	for _, want := range []string{"This runs vramscope's code inside your process", "\n  ok  your own process\n", "Logged in " + b.state} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if _, err := os.Stat(b.state); err == nil {
		t.Error("a dry run writes a log")
	}
	// A loaded machine can need longer than attach waits.
	for deadline := time.Now().Add(waitLimit); ; {
		out, code = b.vramscope("attach", "PID", "--yes")
		if cannotTrace(out) {
			t.Skipf("no process can be traced on this machine: %s", out)
		}
		if strings.HasSuffix(out, ": it has a probe already\n") {
			t.Skip("the probe came after attaching had given up: the machine is too busy to tell more")
		}
		if code != command.ExitFailure || time.Now().After(deadline) {
			break
		}
	}
	if want := fmt.Sprintf(`^attached to %d( \(paused (\d+|less than 1) ms\))?; its probe answered after \d+\.\d s; it uses no GPU so far\n$`, b.python.Process.Pid); code != command.ExitOK || !regexp.MustCompile(want).MatchString(out) {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code = b.vramscope("attach", "PID", "--yes"); code != command.ExitRefused || !strings.HasSuffix(out, ": it has a probe already\n") {
		t.Errorf("the second time: exit code %d: %s", code, out)
	}
	if _, err := b.input.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	if err := b.input.Flush(); err != nil {
		t.Fatal(err)
	}
	b.waitsFor("still here")

	content, err := os.ReadFile(filepath.Join(b.state, "vramscope", action.LogName))
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	for line := range strings.Lines(string(content)) {
		var entry struct {
			Outcome string
			PID     int
			By, Why string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.PID != b.python.Process.Pid || entry.By != "command" || entry.Why != "vramscope attach" {
			t.Errorf("%+v, %v", entry, err)
		}
		outcomes = append(outcomes, entry.Outcome)
	}
	if got := strings.Join(outcomes, " "); !strings.HasSuffix(got, "begin attached refused") {
		t.Errorf("the log says %s", got)
	}
}
