package ui

import (
	"slices"
	"strings"
	"testing"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot/snapshottest"
)

func TestAKeyMeansOneThingInAScope(t *testing.T) {
	b := newBindings(everyAbility, false)
	for name, indices := range b.byKey {
		for _, where := range []scope{inMain, inDetail, inOverlay, inNoDriver} {
			var ids []keyID
			for _, i := range indices {
				if b.all[i].scope&where != 0 {
					ids = append(ids, b.all[i].id)
				}
			}
			if len(ids) > 1 {
				t.Errorf("key %q means %v in scope %b", name, ids, where)
			}
		}
	}
	if got := b.match("k", inMain, false); got != keyUp {
		t.Errorf("k is %v; a bare k moves, it never kills", got)
	}
}

func TestAliasesOfTheHelpScreen(t *testing.T) {
	b := newBindings(everyAbility, false)
	for _, tc := range []struct {
		names string
		want  keyID
	}{
		{"q f10", keyQuit}, {"x f9", keySignal}, {"/ f3", keyFind}, {`\ f4 f`, keyFilter}, {"t f5", keyTree},
		{"s f6", keySort}, {"up k", keyUp}, {"down j", keyDown}, {"home g", keyHome}, {"end G", keyEnd},
		{"0 1 2 3 4 5 6 7 8 9", keyGPU}, {"ctrl+c", keyInterrupt}, {"space", keyTag}, {"U", keyUntag},
	} {
		for name := range strings.FieldsSeq(tc.names) {
			if got := b.match(name, inMain, false); got != tc.want {
				t.Errorf("match(%q) = %v, want %v", name, got, tc.want)
			}
		}
	}
}

func TestActionsAreGoneInThePastAndReadOnly(t *testing.T) {
	actions := []string{"F", "a", "x", "f9", "space", "U"}
	b := newBindings(everyAbility, false)
	for _, name := range actions {
		if b.match(name, inMain, false) == keyNone {
			t.Errorf("%q does nothing now", name)
		}
		if got := b.match(name, inMain, true); got != keyNone {
			t.Errorf("%q is %v in the past", name, got)
		}
		if got := newBindings(everyAbility, true).match(name, inMain, false); got != keyNone {
			t.Errorf("%q is %v with --read-only", name, got)
		}
	}
	for _, h := range b.hints(inMain, true, 8) {
		if slices.Contains([]string{"F", "a", "x", "Space"}, h.key) {
			t.Errorf("the past offers %q", h.key)
		}
	}
	if got := newBindings(canSignal, false).match("F", inMain, false); got != keyNone {
		t.Errorf("F is %v though no flush is bound", got)
	}
}

// joined is the left part of the bottom line.
func joined(hints []hint, gap int) string {
	words := make([]string, len(hints))
	for i, h := range hints {
		words[i] = h.key + " " + h.text
	}
	return strings.Join(words, strings.Repeat(" ", gap))
}

func TestHintsAsDrawn(t *testing.T) {
	b := newBindings(everyAbility, false)
	for _, tc := range []struct {
		where     scope
		room, gap int
		want      string
	}{
		{inMain, 80 - 1 - 18, 2, "? help  q quit  Enter detail  F flush  a attach  / find"},
		{inMain, 120 - 1 - 21, 3, "? help   q quit   Enter detail   F flush   a attach   x signal   / find   f filter   s sort"},
		{inMain, 200 - 1 - 18, 3, "? help   q quit   Enter detail   F flush   a attach   x signal   / find   f filter   u mine   s sort   t tree   Space tag   0-7 GPU   p freeze   , . back, forth   E events"},
		{inDetail, 80 - 1 - 9, 2, "Esc back  j k next process  F flush  x signal  v map  e env  y copy"},
		{inNoDriver, 61, 2, "? help  r look now  d doctor  E events  q quit"},
	} {
		hints := b.hints(tc.where, false, 7)
		if tc.where == inDetail {
			hints = screenOf(toldInFull(), 80, 24).at(snapshottest.Leaking, 1).detailHints(hints)
		}
		got := joined(fitHints(hints, tc.room, tc.gap), tc.gap)
		if got != tc.want {
			t.Errorf("room %d:\n got %s\nwant %s", tc.room, got, tc.want)
		}
	}
}

func TestAWiderLineNeverLosesAHint(t *testing.T) {
	for _, where := range []scope{inMain, inDetail, inOverlay, inNoDriver} {
		hints := newBindings(everyAbility, false).hints(where, false, 16)
		if where == inDetail {
			widerLines(t, screenOf(toldInFull(), 80, 24).at(snapshottest.Leaking, 1).detailHints(hints))
			hints = screenOf(toldInFull(), 80, 24).at(snapshottest.Probeme, 1).detailHints(hints)
		}
		widerLines(t, hints)
	}
}

func widerLines(t *testing.T, all []hint) {
	t.Helper()
	before := 0
	for room := range 250 {
		fitted := fitHints(all, room, 2)
		if got := text.Width(joined(fitted, 2)); got > room {
			t.Fatalf("room %d: %d cells", room, got)
		}
		if len(fitted) < before {
			t.Fatalf("room %d shows %d hints, room %d showed %d", room, len(fitted), room-1, before)
		}
		before = len(fitted)
	}
}
