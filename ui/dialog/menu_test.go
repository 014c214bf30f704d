package dialog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/ui/cell"
	"vramscope/ui/uitest"
)

func someChoices() Choices {
	columns := []Item{{"GPU", "index of the GPU"}, {"PID", "process"}, {"USER", "its owner"}, {"USED", "its memory"}, {"ALLOC", "allocated"}, {"JOB", "its job"}}
	var list []Column
	for _, item := range columns {
		list = append(list, Column{Item: item, Fixed: item.Name == "GPU" || item.Name == "PID" || item.Name == "USED"})
	}
	return Choices{
		Intervals: []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}, Windows: []time.Duration{0, 5 * time.Minute},
		Sort: columns, Columns: list,
	}
}

func someSettings() Settings {
	return Settings{Theme: "vramscope", Interval: time.Second, Sort: "USED", Bell: true}
}

func setupOf(lk *cell.Appearance) Setup { return NewSetup(lk, someSettings(), someChoices()) }

// TestSetupChanges: each key changes what it names, and nothing else.
func TestSetupChanges(t *testing.T) {
	for keys, want := range map[string]func(s *Settings){
		"right":                           func(s *Settings) { s.Theme = "dark" },
		"left":                            func(s *Settings) { s.Theme = "mono" },
		"down right":                      func(s *Settings) { s.Interval = 2 * time.Second },
		"down right right":                func(s *Settings) { s.Interval = 500 * time.Millisecond },
		"down down right":                 func(s *Settings) { s.Sort = "ALLOC" },
		"3j space":                        func(s *Settings) { s.Reversed = true },
		"3j space up right":               func(s *Settings) { s.Sort = "ALLOC" }, // a new column resets the order
		"4j space":                        func(s *Settings) { s.Lines = true },
		"5j enter":                        func(s *Settings) { s.Window = 5 * time.Minute },
		"6j space":                        func(s *Settings) { s.Mouse = true },
		"7j space":                        func(s *Settings) { s.Bell = false },
		"8j space":                        func(*Settings) {}, // GPU is always there
		"end space":                       func(s *Settings) { s.Columns = []string{"GPU", "PID", "USER", "USED", "ALLOC"} },
		"end K":                           func(s *Settings) { s.Columns = []string{"GPU", "PID", "USER", "USED", "JOB", "ALLOC"} },
		"end f7 f8":                       func(*Settings) {},
		"end K K space home right home d": func(s *Settings) { s.Theme = "dark" },
		"x T q":                           func(*Settings) {},
	} {
		var o Overlay = setupOf(uitest.Appearance(t, "", false))
		for key := range strings.FieldsSeq(keys) {
			if n, k := 0, ""; len(key) == 2 && key[1] == 'j' {
				_, _ = fmt.Sscanf(key, "%d%s", &n, &k)
				o, _ = pressed(o, slices.Repeat([]string{"j"}, n)...)
				continue
			}
			o, _ = pressed(o, key)
		}
		expected := someSettings()
		want(&expected)
		if got := o.(Setup).Settings(); fmt.Sprint(got) != fmt.Sprint(expected) {
			t.Errorf("%s:\n got %+v\nwant %+v", keys, got, expected)
		}
	}
}

// TestSetupBeginsWithTheChosenColumns: the chosen columns keep their order, after the mandatory ones that they lack.
func TestSetupBeginsWithTheChosenColumns(t *testing.T) {
	s := someSettings()
	s.Columns = []string{"ALLOC", "PID"}
	d := NewSetup(uitest.Appearance(t, "", false), s, someChoices())
	if got := strings.Join(d.Settings().Columns, " "); got != "GPU USED ALLOC PID" {
		t.Errorf("columns %s", got)
	}
}

func TestSetupEnds(t *testing.T) {
	for key, want := range map[string]Outcome{
		"esc": Closed, "q": Closed, "f2": Closed, "f10": Closed, "w": Saved, "right": Changed, "T": Handled, "?": Ignored, "ctrl+l": Ignored,
	} {
		if _, out := pressed(setupOf(uitest.Appearance(t, "", false)), key); out != want {
			t.Errorf("%s: %v, want %v", key, out, want)
		}
	}
}

// TestMenusFollowTheCursor: at every height the line under the cursor is in view.
func TestMenusFollowTheCursor(t *testing.T) {
	lk := uitest.Appearance(t, "mono", false)
	for name, menu := range map[string]Menu{
		"setup": setupOf(lk), "sort by": NewSortBy(lk, someChoices().Sort, "USED", true),
	} {
		for height := 3; height <= 20; height++ {
			var o Overlay = menu
			for range 20 {
				lines := o.Render(60, height)
				uitest.CheckCells(t, lines, 60, height)
				at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "\x1b[7m") })
				if at < 0 {
					t.Fatalf("%s, height %d: no cursor in\n%s", name, height, strings.Join(lines, "\n"))
				}
				o, _ = o.Press("down", 60, height)
			}
		}
	}
}

func TestSortByReversesTheSameColumn(t *testing.T) {
	lk := uitest.Appearance(t, "", false)
	o, out := pressed(NewSortBy(lk, someChoices().Sort, "USED", false), "enter")
	if name, reversed := o.(SortBy).Column(); name != "USED" || !reversed || out != Chosen {
		t.Errorf("Enter on the column in force: %s, %v, %v", name, reversed, out)
	}
	o, _ = pressed(NewSortBy(lk, someChoices().Sort, "USED", true), "down", "enter")
	if name, reversed := o.(SortBy).Column(); name != "ALLOC" || reversed {
		t.Errorf("Enter on the next: %s, %v", name, reversed)
	}
}

func TestMenuGoldens(t *testing.T) {
	for _, size := range [][2]int{{30, 6}, {60, 12}, {80, 22}, {200, 40}} {
		for _, ascii := range []bool{false, true} {
			lk := uitest.Appearance(t, "", ascii)
			t.Run(fmt.Sprintf("setup_%dx%d_ascii=%v", size[0], size[1], ascii), func(t *testing.T) {
				matches(t, setupOf(lk), size[0], size[1])
			})
			t.Run(fmt.Sprintf("sortby_%dx%d_ascii=%v", size[0], size[1], ascii), func(t *testing.T) {
				matches(t, NewSortBy(lk, someChoices().Sort, "USED", false), size[0], size[1])
			})
		}
	}
	t.Run("colours", func(t *testing.T) { matches(t, setupOf(uitest.Appearance(t, "dark", false)), 80, 22) })
}
