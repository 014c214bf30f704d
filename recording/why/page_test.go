package why

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func pageOf(h *story) string {
	e := Gather(h, &snapshot.Event{Time: failedAt, Kind: snapshot.EventOutOfMemory, GPUUUID: "GPU-1", Row: id(100), OutOfMemory: h.failure})
	v := Judge(e)
	var b strings.Builder
	for _, line := range Page(e, &v, 500) {
		b.WriteString(line.Text + "\n")
	}
	return b.String()
}

// Free memory is known from the driver's sample, although no probe saw the allocation.
func TestFreeMemoryOfTheSamplesIsShown(t *testing.T) {
	page := pageOf(&story{from: time.Hour, own: full(constant(70 * gib))})
	if !strings.Contains(page, "about 9.50G") || !strings.Contains(page, "cannot tell") {
		t.Error(page)
	}
}

// TestHiddenMemoryIsNoGap: where no sample has the process, as under WSL, there need not be a gap.
func TestHiddenMemoryIsNoGap(t *testing.T) {
	s := (&story{from: time.Hour, own: full(constant(28 * gib)), neighbours: neighbours(constant(48 * gib))}).asked(8 * gib)
	s.own = func(float64) (quantity.Bytes, quantity.Bytes) { return -1, 0 }
	if page := pageOf(s); !strings.Contains(page, "used before: no sample has the process's memory.") {
		t.Error(page)
	}
}

func TestAGapIsNotTheBeginning(t *testing.T) {
	for _, c := range []struct {
		story     story
		want, not string
	}{
		{story{from: 30 * time.Second}, "when the history begins", "gap"},
		{story{from: time.Hour, gap: 20 * time.Minute}, "when a gap in the history ends", "history begins"},
		{story{from: time.Hour, gap: 5 * time.Minute}, "own growth", "gap"},
	} {
		c.story.own = full(constant(28 * gib))
		c.story.neighbours = neighbours(constant(48 * gib))
		if page := pageOf(c.story.asked(8 * gib)); !strings.Contains(page, c.want) || strings.Contains(page, c.not) {
			t.Error(page)
		}
	}
}
