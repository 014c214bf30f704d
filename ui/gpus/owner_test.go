package gpus

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/uitest"
)

// TestOwnerCountsTheOthersThatCompute: also if the largest process only draws.
func TestOwnerCountsTheOthersThatCompute(t *testing.T) {
	for types, want := range map[string]string{"CC": "eve +1", "GC": "eve +1", "GCC": "eve +2", "CGG": "eve", "CCG": "eve +1"} {
		s := &snapshot.Snapshot{}
		for i, kind := range types {
			s.Rows = append(s.Rows, snapshot.Process{ID: snapshot.RowID{GPUUUID: "GPU-1", Process: process.Identity{PID: 7 + i}}, User: "eve", Type: string(kind), Used: uitest.Known(9 - float64(i))})
		}
		p := Panel{Snapshot: s, Holders: &Holders{}, Appearance: uitest.Appearance(t, "", false)}
		if got := p.owner(snapshot.Place{GPUUUID: "GPU-1"}, false, true); got != want {
			t.Errorf("%s: %q, want %q", types, got, want)
		}
	}
}

// TestOwnersKeepTheirHues: when the last user in the alphabet leaves, the others keep their hues. Six users have six.
func TestOwnersKeepTheirHues(t *testing.T) {
	styles, err := themes.New("", true, colorprofile.TrueColor)
	if err != nil {
		t.Fatal(err)
	}
	box := snapshottest.DayOne()
	p := Panel{Appearance: &cell.Appearance{Styles: styles, Glyphs: cell.UnicodeGlyphs()}, Snapshot: box}
	find := func() owners {
		p.Holders = &Holders{} // read again: this test changes its snapshot
		return p.findOwners()
	}
	before := find()
	last := before.names[len(before.names)-2] // before unowned
	for i := range box.Rows {
		if box.Rows[i].User == last {
			box.Rows[i].User = ""
		}
	}
	after := find()
	for _, name := range after.names {
		if after.inks[name] != before.inks[name] {
			t.Errorf("%s has another hue after %s has left", name, last)
		}
	}
	if got := strings.Join(after.names, " "); strings.Contains(got, last) || !strings.HasSuffix(got, " "+unowned) {
		t.Errorf("the legend names %s", got)
	}
	for i, row := range []string{"ada", "ben", "cid", "dora", "eve", "fay"} {
		box.Rows[i].User = row
	}
	box.Rows = box.Rows[:6]
	hues := map[themes.Style]bool{}
	for _, ink := range find().inks {
		hues[ink.Style] = true
	}
	if len(hues) != 6+1 {
		t.Errorf("six users and unowned have %d hues", len(hues))
	}
}
