package gpus

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/uitest"

	"github.com/charmbracelet/x/ansi"
)

// TestBarWordsAreWhole: a short bar has a shorter wording, never a part of one: "no" of "no answer" would mislead.
func TestBarWordsAreWhole(t *testing.T) {
	now := time.Unix(10_000, 0)
	for _, c := range []struct {
		state snapshot.GPUState
		words []string // the wordings, the longest first
	}{
		{snapshot.GPULost, []string{"lost 2m14s ago", "lost 2m14s", "lost"}},
		{snapshot.GPUHanging, []string{"no answer 2m14s", "no answer", "silent"}},
		{snapshot.GPUError, []string{"error 2m14s ago", "error 2m14s", "error"}},
		{"", []string{"usage unknown", "unknown"}},
	} {
		wordings := []string{"usage unknown", "unknown"}
		if c.state != "" {
			wordings = stateWords(&snapshot.GPU{State: c.state, Since: now.Add(-134 * time.Second)}, now)
		}
		seen := 0
		for cells := 80; cells >= 11; cells-- {
			l := cell.NewLine(cells)
			l.BarWords(uitest.Appearance(t, "", false), wordings, cells)
			text := strings.Trim(ansi.Strip(l.String()), "─ ")
			at := slices.Index(c.words, text)
			if at < seen {
				t.Errorf("%q in %d cells, after %q in more", text, cells, c.words[seen])
			}
			seen = max(seen, at)
		}
		if seen != len(c.words)-1 {
			t.Errorf("%q was never shortened to %q", c.words[0], c.words[len(c.words)-1])
		}
	}
}

// TestNoteNamesWhoHoldsAnIdleGPU: the note names the job if there is room, or else the job's user.
func TestNoteNamesWhoHoldsAnIdleGPU(t *testing.T) {
	now := time.Unix(10_000, 0)
	held := &snapshot.JobAllocation{Job: process.Job{Kind: "slurm", ID: "88123"}, User: "alice", Since: now.Add(-42 * time.Minute)}
	p := Panel{Snapshot: &snapshot.Snapshot{}, Holders: &Holders{}, Appearance: uitest.Appearance(t, "", false)}
	p.Now = now
	for note, want := range map[int]string{maxNote: "idle 42m, slurm 88123 (alice) holds it", minNote: "idle 42m, alice"} {
		if got := p.calmNote(Line{GPU: &snapshot.GPU{Allocation: held}}, columns{note: note}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWiderPaneKeepsTheNames: if a note has room for a name, it has room in each wider pane, too.
func TestWiderPaneKeepsTheNames(t *testing.T) {
	p, named := Panel{Snapshot: &snapshot.Snapshot{}}, 0
	for width := 30; width < 200; width++ {
		switch c := p.columnsFor(width); {
		case c.note >= minNote-6:
			named++
		case named > 0:
			t.Errorf("%d cells: the note has %d", width, c.note)
		}
	}
	if named < 100 {
		t.Errorf("names in %d widths", named)
	}
}

// TestNoteCountsTheSpareSlices: of seven, or of as many as the driver reports: an A30 has four.
func TestNoteCountsTheSpareSlices(t *testing.T) {
	for whole, want := range map[int]string{0: "MIG 2 inst, 4g spare", 7: "MIG 2 inst, 4g spare", 4: "MIG 2 inst, 1g spare", 3: "MIG 2 inst"} {
		g := &snapshot.GPU{Instances: []snapshot.Instance{{Slices: 2, Whole: whole}, {Slices: 1, Whole: whole}}}
		if got := migNote(g); got != want {
			t.Errorf("3 of %d slices: %q, want %q", whole, got, want)
		}
	}
}

// TestLegendAtEveryBar: every name in a legend is complete, with textures or only with colours.
func TestLegendAtEveryBar(t *testing.T) {
	for _, theme := range []string{"", "dark"} {
		for cells := 27; cells < 80; cells++ {
			l := cell.NewLine(cells)
			WriteLegend(l, uitest.Appearance(t, theme, false), cells)
			words := strings.Fields(regexp.MustCompile(`[^a-z]+`).ReplaceAllString(ansi.Strip(l.String()), " "))
			for _, word := range words {
				if !slices.Contains([]string{"other", "unknown", "alloc", "frag", "cached", "free"}, word) {
					t.Errorf("theme %q: %q in %d cells", theme, word, cells)
				}
			}
			if !slices.Contains(words, "alloc") || cells >= 42 && !slices.Contains(words, "unknown") {
				t.Errorf("theme %q: no legend in %d cells: %q", theme, cells, words)
			}
		}
	}
}
