//go:build linux && cgo

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// early is a program that allocates more than there is, a given number of seconds after its first
// use of a GPU.
const early = `
import sys, time, torch
after = float(sys.argv[1])
if after:
    live = torch.empty(1 << 30, 0); time.sleep(after)
torch.empty(200 << 30, 0)
`

// TestEarlyErrorsAreExplained: a program can fail and exit before the daemon has found its probe or
// seen it on the GPU. With VRAMSCOPE_FULL the test runs 100 programs.
func TestEarlyErrorsAreExplained(t *testing.T) {
	t.Parallel()
	python := pythonWith(t, "sys")
	b, programs := newProbeBox(t, 1), 10
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		programs = 100
	}
	fake, err := filepath.Abs("../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), b.path), "--record")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	pids := map[int]bool{}
	for i := range programs {
		cmd := d.command("run", "--", python, "-c", early, strconv.FormatFloat(float64(i)*3/float64(programs), 'f', 2, 64))
		cmd.Env = append(cmd.Env, "PYTHONPATH="+fake, "FAKE_TORCH_DRIVER=1", "PYTHONDONTWRITEBYTECODE=1", "XDG_CACHE_HOME="+d.home)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "CUDA out of memory") {
			t.Fatalf("the program ended with %v: %s", err, out)
		}
		pids[cmd.Process.Pid] = false
	}
	explained := 0
	for pid := range pids {
		if eventually(func() bool { return explainedAsTooLarge(t, d, pid) }) {
			explained++
		} else {
			page, _ := d.command("why", strconv.Itoa(pid)).CombinedOutput()
			t.Logf("of PID %d:\n%s", pid, page)
		}
	}
	if explained != programs {
		t.Errorf("%d of %d errors are explained", explained, programs)
	}
	// Each error is one event, even if it was reported more than once.
	d.end()
	r, err := recording.Open(filepath.Join(d.home, "recordings"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	found := map[int]int{}
	for _, e := range r.EventsOf(snapshot.EventOutOfMemory, 0) {
		if found[e.Row.Process.PID]++; found[e.Row.Process.PID] > 1 {
			t.Errorf("another event of one error: %+v %+v", e, e.OutOfMemory)
		}
	}
}

func explainedAsTooLarge(t *testing.T, d *runningDaemon, pid int) bool {
	t.Helper()
	out, err := d.command("why", strconv.Itoa(pid), "--format", "json").Output()
	if err != nil {
		return false
	}
	var page struct {
		Verdict        string
		RequestedBytes quantity.Bytes `json:"requested_bytes"`
	}
	if err := json.Unmarshal(out, &page); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "vramscope run") {
		t.Errorf("a page of a program that was run so advises it:\n%s", out)
	}
	return page.Verdict == "too_large" && page.RequestedBytes == 200*quantity.GiB
}
