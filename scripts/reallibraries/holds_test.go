//go:build linux && cgo

package reallibraries

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"vramscope/internal/needs"
)

// TestHolds runs holds_job.py for each release: programs that train in several ways compare
// vramscope's answers, to the byte, with what they know to hold.
func TestHolds(t *testing.T) {
	needs.Tool(t, "python3")
	vramscope := needs.Vramscope(t)
	for _, site := range releases(t, "torch") {
		t.Run(filepath.Base(site), func(t *testing.T) {
			t.Parallel()
			p := box(t, job{vramscope: vramscope, site: site})
			cmd := exec.Command(vramscope, "run", "--", "python3", "holds_job.py")
			cmd.Env = append(p.environment, "PYTHONPATH="+site, "PYTHONDONTWRITEBYTECODE=1", "VRAMSCOPE_PROBE_DEBUG=1")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
}
