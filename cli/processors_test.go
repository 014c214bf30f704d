package cli

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"vramscope/sampler"
	"vramscope/sampler/simulator"
)

// TestStayLight: how many processors a monitor runs on does not depend on the machine.
func TestStayLight(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	t.Setenv("GOGC", "")
	before, percent := runtime.GOMAXPROCS(128), debug.SetGCPercent(100)
	defer func() { runtime.GOMAXPROCS(before); debug.SetGCPercent(percent) }()
	p := &program{getenv: func(string) string { return "" }}
	onAll := p.quickStart()
	if n, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100); n != 2 || percent != lookGCPercent {
		t.Errorf("at the start %d processors, GOGC %d", n, percent)
	}
	restore := p.stayLight()
	if n, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100); n != 1 || percent != 35 {
		t.Errorf("%d processors, GOGC %d", n, percent)
	}
	restore()
	onAll()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors afterwards", n)
	}
	t.Setenv("GOMAXPROCS", "128")
	p.quickStart()
	p.stayLight()()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors against the environment", n)
	}
	p.flags.demo = true
	debug.SetGCPercent(100)
	if p.quickStart(); debug.SetGCPercent(100) != 100 {
		t.Error("a demo collects its garbage late")
	}
}

// TestGarbageOfOneSnapshot: GOGC in the environment comes first.
func TestGarbageOfOneSnapshot(t *testing.T) {
	const set = 70
	percent := debug.SetGCPercent(set)
	defer debug.SetGCPercent(percent)
	box, err := simulator.New(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for environment, want := range map[string]int{"": lookGCPercent, "70": set} {
		t.Setenv("GOGC", environment)
		debug.SetGCPercent(set)
		src := &sources{options: sampler.Options{Clock: time.Now, Devices: box, Probes: box, Processes: box}}
		src.look(t.Context(), sampler.New(src.options))
		if got := debug.SetGCPercent(set); got != want {
			t.Errorf("GOGC=%q: %d, want %d", environment, got, want)
		}
	}
}

// TestWhatRunsForHoursRunsOnOneProcessor, as Go's scheduler tells of itself.
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
