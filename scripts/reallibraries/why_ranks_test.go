//go:build linux && cgo

package reallibraries

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// TestWhyRanks: of two ranks under torchrun, the one that ran out of memory used much more. why
// says so, and how to replay its allocations.
func TestWhyRanks(t *testing.T) {
	beyondCore(t)
	vramscope, site := needs.Vramscope(t), releases(t, "torch")[0]
	p, traces := box(t, job{vramscope: vramscope, site: site}), t.TempDir()
	w := &whyBox{t: t, probed: p}
	recording := w.record(t)
	cmd := exec.Command(vramscope, "run", "--record-memory", traces, "--snapshot-on-oom", traces, "--", "python3", "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "ranks_job.py")
	cmd.Env = append(p.environment, "PYTHONPATH="+site)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "OutOfMemoryError") {
		t.Fatalf("%v: %s", err, out)
	}
	var doc struct{ Unequal *string }
	eventually(func() bool {
		out, err := p.asked("json", []string{"why", "--file", recording})
		return err == nil && json.Unmarshal(out, &doc) == nil && doc.Unequal != nil
	})
	page, err := p.asked("text", []string{"why", "--file", recording})
	for _, want := range []string{"Unequal shares: rank 0 uses 30.5G, the other rank 10.5G.", "Other settings, when it has ended:\n  vramscope why ", "ranks_job.py:2"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q: %v\n%s", want, err, page)
		}
	}
	for _, of := range []string{"/memory-*.pickle", "/oom-*.pickle"} {
		if found, _ := filepath.Glob(traces + of); len(found) == 0 { // the pattern is well formed
			t.Errorf("the ranks left no %s", of)
		}
	}
}
