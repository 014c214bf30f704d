package ui

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/graph"
	"vramscope/ui/keys"
	"vramscope/ui/table"
)

const (
	kib = quantity.KiB
	mib = quantity.MiB
	gb  = quantity.GiB
)

// lookOf is a theme with every action bound, as in the drawings.
func lookOf(t testing.TB, theme string, dark bool, profile colorprofile.Profile, g cell.Glyphs) *cell.Appearance {
	t.Helper()
	styles, err := themes.New(theme, dark, profile)
	if err != nil {
		t.Fatal(err)
	}
	return &cell.Appearance{Styles: styles, Glyphs: g, Keys: keys.New(keys.AllAbilities, false), Version: "1.0.0"}
}

// drawnLook is plain text with the drawings' glyphs.
func drawnLook(t testing.TB) *cell.Appearance {
	return lookOf(t, "mono", true, colorprofile.NoTTY, cell.UnicodeGlyphs())
}

// stateOf shows a box on a screen of this size.
func screenOf(s *snapshot.Snapshot, width, height int) *state {
	return &state{
		width: width, height: height, now: s.Time, live: s, shown: s,
		history: snapshottest.History(s), Listing: table.Listing{Tags: map[snapshot.RowID]bool{}}, idleAfter: idleAfter, stacks: &graph.Stacks{},
	}
}

// at puts the cursor on a pid, where it is drawn.
func (st *state) at(pid, line int) *state {
	st.Cursor = table.Cursor{Active: true, ID: snapshottest.RowID(st.shown, pid), Line: line}
	return st
}
