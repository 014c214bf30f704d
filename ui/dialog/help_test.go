package dialog

import (
	"fmt"
	"strings"
	"testing"

	"vramscope/ui/keys"
	"vramscope/ui/uitest"
)

func TestHelpListsOnlyAvailableKeys(t *testing.T) {
	lk := uitest.Appearance(t, "", false)
	lk.Keys = keys.New(keys.CanSignal, true)
	text := rendered(NewHelp(lk), 80, 40)
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
	var o Overlay = NewHelp(uitest.Appearance(t, "", false))
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

// TestHelpHasTwoPages: ? shows the second one, and then closes; Tab goes to and fro.
func TestHelpHasTwoPages(t *testing.T) {
	var o Overlay = NewHelp(uitest.Appearance(t, "", false), Section{"COLUMNS", []Item{{"USED", "its memory"}}})
	for _, step := range []struct {
		key, shows string
		out        Outcome
	}{{"?", "its memory", Handled}, {"tab", "MOVE", Handled}, {"tab", "its memory", Handled}, {"left", "MOVE", Handled}, {"right", "its memory", Handled}, {"?", "its memory", Closed}} {
		var out Outcome
		o, out = o.Press(step.key, 80, 60)
		if text := rendered(o, 80, 60); out != step.out || !strings.Contains(text, step.shows) {
			t.Errorf("%s: %v, want %v and %q in\n%s", step.key, out, step.out, step.shows, text)
		}
	}
}

// TestHelpExplainsInLinesThatFit: at 80, 120 and 200 columns each takes one line, uncut.
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
				matches(t, NewHelp(uitest.Appearance(t, "", ascii)), size[0], size[1])
			})
		}
	}
	for _, size := range [][2]int{{30, 3}, {40, 8}, {80, 23}, {120, 39}, {200, 49}, {300, 79}} {
		for _, ascii := range []bool{false, true} {
			t.Run(fmt.Sprintf("second %dx%d ascii=%v", size[0], size[1], ascii), func(t *testing.T) {
				o, _ := NewHelp(uitest.Appearance(t, "", ascii), Section{"COLUMNS", someChoices().Columns}).Press("?", size[0], size[1])
				matches(t, o, size[0], size[1])
			})
		}
	}
	lk := uitest.Appearance(t, "", false)
	lk.Keys = keys.New(keys.CanSignal|keys.CanEnvironment|keys.CanCopy, false)
	t.Run("no flush, no attach", func(t *testing.T) { matches(t, NewHelp(lk), 80, 22) })
	readOnly := uitest.Appearance(t, "", false)
	readOnly.Keys = keys.New(keys.AllAbilities, true)
	t.Run("read-only", func(t *testing.T) { matches(t, NewHelp(readOnly), 80, 22) })
}
