//go:build linux && cgo

package gpucheck

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// check is a run of scripts/gpu-check on a fake driver, with a stand-in for
// nvidia-smi.
type check struct {
	*exec.Cmd
	output string // directory of the recordings
	own    string // directory of the run's temporary files
	all    strings.Builder
}

// startCheck starts a run that samples each pattern for the given seconds; with 0 it runs none.
func startCheck(t *testing.T, binary string, state fakedriver.State, seconds string, environment ...string) *check {
	t.Helper()
	return startSections(t, binary, "figures,loop", state, seconds, environment...)
}

// startSections starts a run of these sections.
func startSections(t *testing.T, binary, sections string, state fakedriver.State, seconds string, environment ...string) *check {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state")
	state.MustWrite(t, path)
	tools, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	// t.TempDir() is too long for a socket's address.
	own, err := os.MkdirTemp("", "check-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(own); err != nil {
			t.Error(err)
		}
	})
	c := &check{output: filepath.Join(t.TempDir(), "recorded"), own: own}
	c.Cmd = exec.Command("python3", "../gpu-check", binary, "--output", c.output, "--seconds", seconds, "--only", sections)
	c.Env = append(os.Environ(), fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), path)...)
	c.Env = append(c.Env, "PATH="+tools+":"+os.Getenv("PATH"), "TMPDIR="+own)
	c.Env = append(c.Env, environment...)
	c.Stdout, c.Stderr = &c.all, &c.all
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill() // the test has failed
			_ = c.Wait()
		}
	})
	return c
}

// end waits for the run, and returns its output and exit code.
func (c *check) end() (string, int) {
	_ = c.Wait() // the exit code is returned
	return c.all.String(), c.ProcessState.ExitCode()
}

// verdict reports whether a run had the expected result.
type verdict func(printed string, exit int) bool

// agreed returns the verdict that no figure differs.
func agreed(printed string, exit int) bool {
	return exit == 0 && strings.Contains(printed, ", 0 differ;")
}

// retried waits for a run and, if its result is unexpected, for up to two further runs,
// because a loaded machine may miss the time limits. A real fault fails every time.
func retried(c *check, found verdict, again func() *check) (_ *check, printed string, exit int) {
	for attempt := 1; ; attempt++ {
		if printed, exit = c.end(); attempt == 3 || found(printed, exit) {
			return c, printed, exit
		}
		c = again()
	}
}

// checkRun makes a run without patterns.
func checkRun(t *testing.T, binary string, found verdict, state fakedriver.State, environment ...string) (string, int, string) {
	t.Helper()
	start := func() *check { return startCheck(t, binary, state, "0", environment...) }
	c, printed, exit := retried(start(), found, start)
	return printed, exit, c.output
}

// TestGPUCheck compares true and falsified figures of the fake driver.
func TestGPUCheck(t *testing.T) {
	needs.Tool(t, "python3")
	binary := needs.Vramscope(t)
	box := fakedriver.Box(2, 3)
	box.GPUs[1].ECCCorrected = 4

	t.Run("agrees", func(t *testing.T) {
		t.Parallel()
		printed, exit, output := checkRun(t, binary, agreed, box.Clone())
		if exit != 0 || !strings.Contains(printed, ", 0 differ;") || strings.Contains(printed, " differs\n") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
		for _, row := range []string{"memory.used", "ecc.errors.corrected.volatile.total", "used memory", "cuda_version",
			"slow-down temperature", "grows by, MiB", "after freeing, MiB"} {
			if !strings.Contains(printed, row) {
				t.Errorf("nothing about %s in\n%s", row, printed)
			}
		}
		expectRecordings(t, output)
	})
	t.Run("agrees under MIG", func(t *testing.T) {
		t.Parallel()
		printed, exit, _ := checkRun(t, binary, agreed, fakedriver.MIG())
		if exit != 0 || !strings.Contains(printed, "MIG 1/0 memory used") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
	})
	t.Run("agrees with an old nvidia-smi", func(t *testing.T) {
		t.Parallel()
		plain := fakedriver.Box(1, 1)
		plain.GPUs[0].Reserved, plain.GPUs[0].Free = 0, plain.GPUs[0].Total-plain.GPUs[0].Used
		printed, exit, _ := checkRun(t, binary, agreed, plain, "STAND_IN_LIES=memory.reserved=unknown")
		if exit != 0 || strings.Contains(printed, "memory.reserved") || !strings.Contains(printed, "memory.used") {
			t.Fatalf("exit code %d\n%s", exit, printed)
		}
	})
	t.Run("differs", func(t *testing.T) {
		t.Parallel()
		lies := map[string]string{
			"memory.used": "17", "memory.total": "80000", "temperature.gpu": "12", "ecc.mode.current": "[N/A]",
			"pci.bus_id": "00000000:99:00.0", "power.draw": "[N/A]", "enforced.power.limit": "699.90",
		}
		var pairs []string
		for query, lie := range lies {
			pairs = append(pairs, query+"="+lie)
		}
		seven := func(printed string, exit int) bool { return exit == 1 && strings.Contains(printed, " 7 differ;") }
		printed, exit, _ := checkRun(t, binary, seven, fakedriver.Box(1, 1), "STAND_IN_LIES="+strings.Join(pairs, ","))
		if exit != 1 || !strings.Contains(printed, " 7 differ;") {
			t.Errorf("exit code %d", exit)
		}
		for line := range strings.Lines(printed) {
			fields := strings.Fields(line)
			if len(fields) < 4 || fields[0] != "GPU" {
				continue
			}
			if _, lied := lies[fields[2]]; lied != strings.HasSuffix(line, "  differs\n") {
				t.Errorf("falsified %v: %s", lied, line)
			}
		}
		if t.Failed() {
			t.Log(printed)
		}
	})
}

// contextBytes is the cost of a context on the fake driver.
const contextBytes = 500 << 20

// expectRecordings checks the files that a run leaves.
func expectRecordings(t *testing.T, directory string) {
	t.Helper()
	var result struct {
		Driver     string
		GPUs       []string
		ClosedLoop struct {
			Context int64 `json:"context_bytes"`
		} `json:"closed_loop"`
		Milliseconds map[string]float64
		Rows         []struct{ What, Verdict string }
	}
	var symbolList struct{ Symbols []string }
	var once struct {
		Host string
		GPUs []struct{ Processes []struct{ Command *string } }
	}
	for name, into := range map[string]any{"result.json": &result, "symbols.json": &symbolList, "once.json": &once} {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if result.Driver != "550.163.01" || len(result.GPUs) != 2 || len(result.Rows) < 40 || len(result.Milliseconds) != 2 {
		t.Errorf("result.json: %+v", result)
	}
	if result.ClosedLoop.Context != contextBytes {
		t.Errorf("result.json: a context costs %d bytes, want %d", result.ClosedLoop.Context, contextBytes)
	}
	if !strings.Contains(strings.Join(symbolList.Symbols, " "), "nvmlDeviceGetMemoryInfo_v2") {
		t.Errorf("symbols.json: %v", symbolList.Symbols)
	}
	if once.Host != "gpu-box" || once.GPUs[0].Processes[0].Command != nil {
		t.Errorf("once.json has personal data: %+v", once)
	}
	log, err := os.ReadFile(filepath.Join(directory, "nvidia-smi.xml"))
	if err != nil || !strings.Contains(string(log), "<serial>-</serial>") {
		t.Errorf("nvidia-smi.xml: %v\n%s", err, log)
	}
}
