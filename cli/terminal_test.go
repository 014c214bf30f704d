package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"

	"vramscope/internal/text"
)

// onTerminal runs this test binary as vramscope on a terminal and returns what it wrote there.
func onTerminal(t *testing.T, width uint16, environ []string, args ...string) string {
	t.Helper()
	out, err := runOnTerminal(t, width, environ, args...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

func runOnTerminal(t *testing.T, width uint16, environ []string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(append(os.Environ(), asVramscope+"=1", "XDG_RUNTIME_DIR=", "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir()), environ...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: width})
	if err != nil {
		t.Skipf("no terminal to be had here: %v", err)
	}
	defer func() { _ = terminal.Close() }()
	var out bytes.Buffer
	_, _ = io.Copy(&out, terminal) // ends in EIO when the program has ended
	err = cmd.Wait()
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), err
}

// TestTerminals: a terminal without a cursor gets a table, cut to its width.
func TestTerminals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		environ []string
		args    []string
	}{
		{"dumb", []string{"TERM=dumb"}, []string{"--demo"}},
		{"nameless", []string{"TERM="}, []string{"--demo"}},
		{"once", []string{"TERM=xterm-256color"}, []string{"once", "--demo"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := onTerminal(t, 72, tc.environ, tc.args...)
			if tc.args[0] != "once" { // below the table, which can be higher than the screen
				_, why, explained := strings.Cut(out, "vramscope: ")
				if !explained || !strings.Contains(why, "cannot move the cursor") || !strings.Contains(why, tc.environ[0][len("TERM="):]) {
					t.Errorf("the table is not explained: %q", why)
				}
			}
			if !strings.HasPrefix(out, "h100-03  SIMULATED  ") || !strings.Contains(out, "\nGPU ") {
				t.Errorf("no table: %q", out)
			}
			if strings.Contains(out, "\x1b") {
				t.Errorf("an escape sequence: %q", out)
			}
			for line := range strings.Lines(out) {
				if n := text.Width(strings.TrimSuffix(line, "\n")); n > 72 {
					t.Errorf("%d cells in 72: %q", n, line)
				}
			}
		})
	}
}

func TestReplayNamesTheTerminal(t *testing.T) {
	if out, err := runOnTerminal(t, 72, []string{"TERM=dumb"}, "replay"); err == nil || !strings.Contains(out, `move the cursor: TERM is "dumb"`) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestDoctorOnATerminal(t *testing.T) {
	t.Parallel()
	out := onTerminal(t, 72, []string{"TERM=xterm-256color", "NO_COLOR=", "COLORTERM="}, "doctor", "--demo")
	for _, want := range []string{"  ok  terminal ", "xterm-256color, 72×24", "  ok  colours ", "256", "UTF-8"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out = onTerminal(t, 72, []string{"TERM=dumb", "NO_COLOR=no"}, "doctor", "--demo")
	for _, want := range []string{`  --  terminal `, `TERM="dumb" cannot move its cursor`, "NO_COLOR is set"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
