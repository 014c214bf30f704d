package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// TestRejectedProbeIsNamed: the row and the detail say that a probe is rejected or unconfirmed.
func TestRejectedProbeIsNamed(t *testing.T) {
	for words, probe := range map[string]snapshot.Probe{
		"probe rejected: reports 512T, the driver 13.0G": {Rejected: "reports 512T, the driver 13.0G"},
		"unconfirmed: reports 42.0G, the driver 2.49G":   {Rejected: "reports 42.0G, the driver 2.49G", Claimed: quantity.From(42*quantity.GiB, quantity.Probe)},
		"unconfirmed: reports 42.0G":                     {Doubted: true, Claimed: quantity.From(42*quantity.GiB, quantity.Probe)},
	} {
		t.Run(words, func(t *testing.T) { checkRejected(t, words, probe) })
	}
}

func checkRejected(t *testing.T, words string, probe snapshot.Probe) {
	probe.State = snapshot.ProbeLive
	row, _, _ := strings.Cut(words, ":")
	snap := snapshottest.DrawnBox()
	snap.Rows = append([]snapshot.Process(nil), snap.Rows...)
	for i := range snap.Rows {
		if p := &snap.Rows[i]; p.ID.Process.PID == snapshottest.Leaking {
			unknown := snapshot.Bytes{}
			p.Allocated, p.Cached, p.Fragmented, p.Returnable, p.Other = unknown, unknown, unknown, unknown, unknown
			p.Allocators, p.Evictable = nil, nil
			p.Probe = &probe
		}
	}
	lk := lookOf(t, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	for _, width := range []int{80, 120, 200} {
		st := screenOf(snap, width, 30)
		st.at(snapshottest.Leaking, 3)
		if screen := ansi.Strip(strings.Join(frame(st, lk), "\n")); !strings.Contains(screen, row) {
			t.Errorf("%d columns: the row does not say it:\n%s", width, screen)
		}
		st.detail = true
		if screen := ansi.Strip(strings.Join(frame(st, lk), "\n")); !strings.Contains(screen, words) {
			t.Errorf("%d columns: the detail does not say it:\n%s", width, screen)
		}
	}
}
