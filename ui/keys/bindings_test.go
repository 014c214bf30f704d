package keys

import (
	"slices"
	"strings"
	"testing"
)

func TestKeysAreUniqueInAScope(t *testing.T) {
	b := New(AllAbilities, false)
	for name, indices := range b.byKey {
		for _, where := range []Scope{InMain, InDetail, InOverlay, InNoDriver} {
			var ids []ID
			for _, i := range indices {
				if b.All[i].scope&where != 0 {
					ids = append(ids, b.All[i].ID)
				}
			}
			if len(ids) > 1 {
				t.Errorf("key %q means %v in scope %b", name, ids, where)
			}
		}
	}
	if got := b.Match("k", InMain, false); got != Up {
		t.Errorf("k is %v; a bare k moves, it never kills", got)
	}
}

func TestAliasesOfTheHelpScreen(t *testing.T) {
	b := New(AllAbilities, false)
	for _, tc := range []struct {
		names string
		want  ID
	}{
		{"q f10", Quit}, {"x f9", Signal}, {"/ f3", Find}, {`\ f4 f`, Filter}, {"t f5", Tree},
		{"s", Sort}, {"S", SortBack}, {"o f6", SortBy}, {"O f2", Setup}, {"? f1", Help}, {"up k", Up}, {"down j", Down}, {"home g", Home}, {"end G", End},
		{"0 1 2 3 4 5 6 7 8 9", GPU}, {"space", Tag}, {"U", Untag},
	} {
		for name := range strings.FieldsSeq(tc.names) {
			if got := b.Match(name, InMain, false); got != tc.want {
				t.Errorf("match(%q) = %v, want %v", name, got, tc.want)
			}
		}
	}
}

func TestActionsAreDisabledInThePastAndReadOnly(t *testing.T) {
	actions := []string{"F", "a", "x", "f9", "space", "U"}
	b := New(AllAbilities, false)
	for _, name := range actions {
		if b.Match(name, InMain, false) == None {
			t.Errorf("%q does nothing now", name)
		}
		if got := b.Match(name, InMain, true); got != None {
			t.Errorf("%q is %v in the past", name, got)
		}
		if got := New(AllAbilities, true).Match(name, InMain, false); got != None {
			t.Errorf("%q is %v with --read-only", name, got)
		}
	}
	for _, h := range b.Hints(InMain, true, 8) {
		if slices.Contains([]string{"F", "a", "x", "Space"}, h.Key) {
			t.Errorf("the past offers %q", h.Key)
		}
	}
	if got := New(CanSignal, false).Match("F", InMain, false); got != None {
		t.Errorf("F is %v though no flush is bound", got)
	}
}
