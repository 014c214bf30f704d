package table

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// TestEndedTextIsNeverCut: in few cells an ended process shows fewer figures, but no part of one.
func TestEndedTextIsNeverCut(t *testing.T) {
	ended := uitest.DrawnAt
	gone := snapshot.EndedProcess{
		Last: snapshot.Process{
			Used: quantity.From(59*quantity.GiB, quantity.Driver),
			Peak: quantity.From(71*quantity.GiB, quantity.Driver),
		},
		Ended: ended, OutOfMemoryCount: quantity.From(int64(1), quantity.Probe),
	}
	for _, c := range []struct {
		cells int
		want  string
	}{
		{80, "ended 10s ago: was 59.0G, peak 71.0G, out of memory x1 (allocator)"},
		{36, "ended 10s: 59.0G, peak 71.0G, OOM x1"},
		{30, "ended 10s: 59.0G, OOM x1"},
		{20, "ended 10s, OOM x1"},
	} {
		if got := endedText(&gone, ended.Add(10*time.Second), c.cells); got != c.want {
			t.Errorf("in %d cells %q, want %q", c.cells, got, c.want)
		}
	}
}

// TestAnEmptyTableHasAWayOut: an empty table names the key that ends the filter, the focus or mine.
func TestAnEmptyTableHasAWayOut(t *testing.T) {
	long := strings.Repeat("a long filter ", 9)
	for _, l := range []Listing{{Filter: "zzz"}, {Filter: long}, {Filter: long, Mine: true}, {Mine: true}, {Focus: &snapshot.Place{}}} {
		for width := 30; width < 120; width++ {
			s := &snapshot.Snapshot{Driver: snapshot.Driver{State: snapshot.DriverOK}, Host: snapshot.Host{User: "somebody-with-a-long-name"}}
			row := ansi.Strip(Table{Listing: l, Appearance: uitest.Appearance(t, "", false), Snapshot: s}.Render(width, 4)[1])
			if row = strings.TrimRight(row, " "); !strings.HasSuffix(row, "Esc: all") && !strings.HasSuffix(row, "Esc: all GPUs") && !strings.HasSuffix(row, "u: everybody's") {
				t.Errorf("in %d cells: %q", width, row)
			}
		}
	}
}
