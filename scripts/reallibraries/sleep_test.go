//go:build linux && cgo

package reallibraries

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/schema"
)

// TestSleep: memory that is unmapped, with its addresses kept, takes nothing of the GPU, though
// PyTorch still counts it. A program that claims such memory without unmapping it is not believed.
func TestSleep(t *testing.T) {
	needs.Tool(t, "python3")
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	library := pluggable(t, "sleeper")
	for _, site := range sites {
		for _, how := range []string{byRun, withShim} {
			t.Run(filepath.Base(site)+"/"+how, func(t *testing.T) {
				t.Parallel()
				p := start(t, job{vramscope: vramscope, site: site, how: how, command: []string{"python3", "torch_job.py"},
					settings: []string{"VRAMSCOPE_REAL_SLEEPER=" + library}}).begin(t, "sleeper", false, nil)
				do := func(code string) { p.must("do", map[string]any{"code": code}, new(any)) }
				p.shows(t, "awake", 42, 0)
				do("sleep('doze')")
				p.shows(t, "asleep", 2, 40)
				do("held.append(tensors(torch, [60 << 30]))")
				p.shows(t, "asleep, and trains", 62, 40)
				do("held.pop(); torch.cuda.empty_cache(); sleep('wake')")
				p.shows(t, "awake again", 42, 0)
				do("lie(torch, 20 << 30)")
				p.shows(t, "a liar", -1, 0)
			})
		}
	}
}

// shows waits until vramscope shows these GiB as reserved and as asleep; reserved is -1 if the
// probe is not believed.
func (p *program) shows(t *testing.T, state string, reserved, asleep int64) {
	t.Helper()
	var row schema.Process
	wrong := "nothing"
	eventually(func() bool {
		out, err := p.vramscope("once", "--format", "json")
		var box schema.Document
		if err == nil {
			err = json.Unmarshal(out, &box)
		}
		if err != nil {
			wrong = err.Error()
			return false
		}
		row = schema.Process{}
		for i := range box.GPUs[0].Processes {
			if each := box.GPUs[0].Processes[i]; each.PID == p.pid {
				row = each
			}
		}
		if wrong = p.differs(&row, reserved*gib, asleep*gib); wrong != "" {
			shown, _ := json.Marshal(row) // only to explain
			wrong += "\n" + string(shown)
		}
		return wrong == ""
	})
	if wrong != "" {
		t.Fatalf("%s: %s", state, wrong)
	}
	flush, err := p.vramscope("flush", "--dry-run", strconv.Itoa(p.pid))
	if refused := err != nil && strings.Contains(err.Error(), "rejected"); reserved < 0 && !refused {
		t.Errorf("%s: a flush is not refused: %s, %v", state, flush, err)
	}
}

func (p *program) differs(row *schema.Process, reserved, asleep int64) string {
	if row.Probe == nil {
		return "no probe"
	}
	if reserved < 0 {
		if row.Probe.Rejected == "" || row.ReturnableBytes.Known() || row.CachedBytes.Known() {
			return "it is believed"
		}
		return ""
	}
	parts := int64(row.AllocatedBytes.Or(0) + row.CachedBytes.Or(0) + row.FragmentedBytes.Or(0))
	switch {
	case row.Probe.Rejected != "":
		return "rejected: " + string(row.Probe.Rejected)
	case int64(row.UsedBytes.Or(0)) < parts || int64(row.UsedBytes.Or(0)) > parts+contextBytes+64<<20:
		return "parts of another size than used"
	case parts != reserved, int64(row.AsleepBytes.Or(0)) != asleep:
		return "other parts"
	}
	return ""
}
