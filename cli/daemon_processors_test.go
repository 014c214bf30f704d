package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestWhatRunsForHoursRunsOnOneProcessor checks the number that Go's scheduler reports.
func TestWhatRunsForHoursRunsOnOneProcessor(t *testing.T) {
	if runtime.NumCPU() == 1 {
		t.Skip("there is one processor")
	}
	for _, args := range [][]string{{"--demo"}, {"fleet", "--prometheus", "http://127.0.0.1:1"}, {"stream", "--demo"}, {"daemon", "--demo"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = read.Close() }()
			cmd := exec.Command(os.Args[0], args...)
			cmd.Env = append(os.Environ(), asVramscope+"=1", "GODEBUG=schedtrace=50", "GOMAXPROCS=", "TERM=xterm-256color",
				"XDG_RUNTIME_DIR="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
			cmd.Stderr = write
			terminal, err := pty.Start(cmd)
			if err != nil {
				t.Skipf("no terminal to be had here: %v", err)
			}
			_ = write.Close() // the process has it
			go func() { _, _ = io.Copy(io.Discard, terminal) }()
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = terminal.Close() }()
			lines := bufio.NewScanner(read)
			for end := time.Now().Add(30 * time.Second); lines.Scan() && time.Now().Before(end); {
				if strings.Contains(lines.Text(), " gomaxprocs=1 ") {
					return
				}
			}
			t.Error("it runs on all processors")
		})
	}
}
