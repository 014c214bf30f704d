package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// TestRejectedProbeIsNamed in the row, in the detail and where F is pressed, and
// none of its parts is on the screen.
func TestRejectedProbeIsNamed(t *testing.T) {
	snap := snapshottest.DrawnBox()
	snap.Rows = append([]snapshot.Process(nil), snap.Rows...)
	for i := range snap.Rows {
		if p := &snap.Rows[i]; p.ID.Process.PID == snapshottest.Leaking {
			unknown := snapshot.Bytes{}
			p.Allocated, p.Cached, p.Fragmented, p.Returnable, p.Other = unknown, unknown, unknown, unknown, unknown
			p.Allocators, p.Evictable = nil, nil
			p.Probe = &snapshot.Probe{State: snapshot.ProbeLive, Rejected: "reports 512T, the driver 13.0G"}
		}
	}
	lk := lookOf(t, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	for _, width := range []int{80, 120, 200} {
		st := screenOf(snap, width, 30)
		st.at(snapshottest.Leaking, 3)
		if screen := ansi.Strip(strings.Join(frame(st, lk), "\n")); !strings.Contains(screen, "probe rejected") {
			t.Errorf("%d columns: the row does not say it:\n%s", width, screen)
		}
		st.detail = true
		if screen := ansi.Strip(strings.Join(frame(st, lk), "\n")); !strings.Contains(screen, "probe rejected: reports 512T, the driver 13.0G") {
			t.Errorf("%d columns: the detail does not say it:\n%s", width, screen)
		}
	}
}
