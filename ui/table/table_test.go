package table

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// TestEndedTextIsNeverCut: in few cells an ended process has fewer figures, not
// half of one.
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
