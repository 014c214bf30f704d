package dialog

import (
	"fmt"
	"strings"
	"testing"

	"vramscope/ui/cell"
	"vramscope/ui/keys"
	"vramscope/ui/uitest"
)

func TestHelpListsOnlyAvailableKeys(t *testing.T) {
	lk := uitest.Appearance(t, "", false)
	lk.Keys = keys.New(keys.CanSignal, true)
	first := NewHelp(lk)
	all, _ := first.Press("tab", 80, 40)
	text := rendered(first, 80, 40) + rendered(all, 80, 40)
	for _, gone := range []string{"flush", "F frees", "attach", "signal", "ACT", "read-only", "snapshot", "copy", "tag"} {
		if strings.Contains(text, gone) {
			t.Errorf("help speaks of %q:\n%s", gone, text)
		}
	}
	for i := range lk.Keys.All {
		if b := &lk.Keys.All[i]; b.Help().Desc != "" && !strings.Contains(text, b.Help().Desc) {
			t.Errorf("help leaves %q out", b.Help().Desc)
		}
	}
}

func TestHelpScrollsToItsEndAndBack(t *testing.T) {
	o, _ := NewHelp(uitest.Appearance(t, "", false)).Press("tab", 40, 8)
	first := rendered(o, 40, 8)
	if strings.Contains(first, "G is GiB") {
		t.Fatal("the last line is in view at once")
	}
	o, _ = o.Press("end", 40, 8)
	if !strings.Contains(rendered(o, 40, 8), "G is GiB") {
		t.Error("End does not show the last line:\n" + rendered(o, 40, 8))
	}
	for range 99 {
		o, _ = o.Press("down", 40, 8) // beyond the end nothing moves
	}
	end := rendered(o, 40, 8)
	if o, _ = o.Press("k", 40, 8); rendered(o, 40, 8) == end {
		t.Error("k after too many j does nothing: the scroll ran past the end")
	}
	if o, _ = o.Press("g", 40, 8); rendered(o, 40, 8) != first {
		t.Error("g does not go back to the first line")
	}
	for _, name := range []string{"esc", "q"} {
		if _, out := o.Press(name, 40, 8); out != Closed {
			t.Errorf("%q does not close the help", name)
		}
	}
	if _, out := o.Press("T", 40, 8); out != Ignored {
		t.Error("T is not left to the program")
	}
}

// TestHelpHasThreePages: ? shows the next page, and after the last one closes the help; Tab cycles.
func TestHelpHasThreePages(t *testing.T) {
	var o Overlay = NewHelp(uitest.Appearance(t, "", false), Section{"COLUMNS", []Item{{"USED", "its memory"}}})
	const first, second, third = "choose a process", "SET", "its memory"
	for _, step := range []struct {
		key, shows string
		out        Outcome
	}{
		{"left", first, Ignored}, {"?", second, Handled}, {"tab", third, Handled}, {"tab", first, Handled}, {"right", second, Handled},
		{"right", third, Handled}, {"left", second, Handled}, {"?", third, Handled}, {"?", third, Closed},
	} {
		var out Outcome
		o, out = o.Press(step.key, 80, 60)
		if text := rendered(o, 80, 60); out != step.out || !strings.Contains(text, step.shows) {
			t.Errorf("%s: %v, want %v and %q in\n%s", step.key, out, step.out, step.shows, text)
		}
	}
}

// TestHelpBeginsWithTenKeys: at 80x24 they are all shown, and the GPU lines stay visible.
func TestHelpBeginsWithTenKeys(t *testing.T) {
	h := NewHelp(uitest.Appearance(t, "", false))
	text, n := rendered(h, 80, 24), 0
	for i := range h.look.Keys.All {
		if b := &h.look.Keys.All[i]; b.First != "" {
			n++
			if !strings.Contains(text, b.First) {
				t.Errorf("%q is cut or missing:\n%s", b.First, text)
			}
		}
	}
	if rows := h.Size(80); n != 10 || rows > 13 {
		t.Errorf("%d keys in %d lines, want 10 in at most 13", n, rows)
	}
}

// TestHelpExplainsInLinesThatFit: the meaning of each mark takes one line of 58 cells.
func TestHelpExplainsInLinesThatFit(t *testing.T) {
	h := NewHelp(uitest.Appearance(t, "", false))
	for _, section := range h.marks() {
		for _, item := range section.Items {
			if got := h.meaning(item, 117/2); len(got) != 1 {
				t.Errorf("%s takes %d lines", item.Name, len(got))
			}
		}
	}
}

func TestHelpGoldens(t *testing.T) {
	for _, size := range [][2]int{{80, 22}, {120, 38}, {60, 15}, {40, 8}} {
		for _, ascii := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dx%d ascii=%v", size[0], size[1], ascii), func(t *testing.T) {
				first := NewHelp(uitest.Appearance(t, "", ascii))
				all, _ := first.Press("tab", size[0], size[1])
				matches(t, all, size[0], size[1])
				t.Run("first", func(t *testing.T) { matches(t, first, size[0], size[1]) })
			})
		}
	}
	for _, size := range [][2]int{{30, 3}, {40, 8}, {80, 23}, {120, 39}, {200, 49}, {300, 79}} {
		for _, ascii := range []bool{false, true} {
			t.Run(fmt.Sprintf("meanings %dx%d ascii=%v", size[0], size[1], ascii), func(t *testing.T) {
				o, _ := NewHelp(uitest.Appearance(t, "", ascii), Section{"COLUMNS", someChoices().Sort}).Press("?", size[0], size[1])
				o, _ = o.Press("?", size[0], size[1])
				matches(t, o, size[0], size[1])
			})
		}
	}
	lk := uitest.Appearance(t, "", false)
	lk.Keys = keys.New(keys.CanSignal|keys.CanEnvironment|keys.CanCopy, false)
	allKeys := func(lk *cell.Appearance) Overlay { o, _ := NewHelp(lk).Press("tab", 80, 22); return o }
	t.Run("no flush, no attach", func(t *testing.T) { matches(t, allKeys(lk), 80, 22) })
	readOnly := uitest.Appearance(t, "", false)
	readOnly.Keys = keys.New(keys.AllAbilities, true)
	t.Run("read-only", func(t *testing.T) { matches(t, allKeys(readOnly), 80, 22) })
}
