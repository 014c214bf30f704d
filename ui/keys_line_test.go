package ui

import (
	"strings"
	"testing"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/keys"
)

// joined returns the left part of the bottom line.
func joined(hints []keys.Hint, gap int) string {
	words := make([]string, len(hints))
	for i, h := range hints {
		words[i] = h.Key + " " + h.Text
	}
	return strings.Join(words, strings.Repeat(" ", gap))
}

func TestHintsAsDrawn(t *testing.T) {
	b := keys.New(keys.AllAbilities, false)
	for _, tc := range []struct {
		where     keys.Scope
		room, gap int
		want      string
	}{
		{keys.InMain, 80 - 1 - 18, 2, "? help  q quit  Enter detail  F flush  a attach  / find"},
		{keys.InMain, 120 - 1 - 21, 3, "? help   q quit   Enter detail   F flush   a attach   x signal   / find   f filter   s sort"},
		{keys.InMain, 200 - 1 - 18, 3, "? help   q quit   Enter detail   F flush   a attach   x signal   / find   f filter   u mine   s sort   t tree   Space tag   0-7 GPU   p freeze   , . back, forth   E events"},
		{keys.InDetail, 80 - 1 - 9, 2, "Esc back  j k next process  F flush  x signal  v map  e env  y copy"},
		{keys.InNoDriver, 61, 2, "? help  r retry now  d doctor  E events  q quit"},
	} {
		hints := b.Hints(tc.where, false, 7)
		if tc.where == keys.InDetail {
			hints = screenOf(fullStats(), 80, 24).at(snapshottest.Leaking, 1).detailHints(hints)
		}
		got := joined(keys.FitHints(hints, tc.room, tc.gap), tc.gap)
		if got != tc.want {
			t.Errorf("room %d:\n got %s\nwant %s", tc.room, got, tc.want)
		}
	}
}

func TestWiderLineKeepsItsHints(t *testing.T) {
	for _, where := range []keys.Scope{keys.InMain, keys.InDetail, keys.InOverlay, keys.InNoDriver} {
		hints := keys.New(keys.AllAbilities, false).Hints(where, false, 16)
		widerLines(t, hints) // of all keys, some of one rank
		if where == keys.InDetail {
			widerLines(t, screenOf(fullStats(), 80, 24).at(snapshottest.Leaking, 1).detailHints(hints))
			hints = screenOf(fullStats(), 80, 24).at(snapshottest.Probeme, 1).detailHints(hints)
		}
		widerLines(t, hints)
	}
}

func widerLines(t *testing.T, all []keys.Hint) {
	t.Helper()
	before := 0
	for room := range 250 {
		fitted := keys.FitHints(all, room, 2)
		if got := text.Width(joined(fitted, 2)); got > room {
			t.Fatalf("room %d: %d cells", room, got)
		}
		if len(fitted) < before {
			t.Fatalf("room %d shows %d hints, room %d showed %d", room, len(fitted), room-1, before)
		}
		before = len(fitted)
	}
}
