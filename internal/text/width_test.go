package text

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "train.py": 8, "東京": 4, "müller": 6, "ﾊ": 1, "\x1b[31mred\x1b[m": 3} {
		if got := Width(s); got != want {
			t.Errorf("%q is %d cells, want %d", s, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s        string
		cells    int
		ellipsis string
		want     string
	}{
		{"train.py", 8, "…", "train.py"},
		{"train.py", 5, "…", "trai…"},
		{"train.py", 5, "", "train"},
		{"train.py", 0, "…", ""},
		{"train.py", -1, "…", ""},
		{"東京", 3, "", "東"},
		{"東京", 3, "…", "東…"},
		{"", 3, "…", ""},
	} {
		if got := Cut(c.s, c.cells, c.ellipsis); got != c.want {
			t.Errorf("Cut(%q, %d, %q) = %q, want %q", c.s, c.cells, c.ellipsis, got, c.want)
		}
	}
}

func TestPad(t *testing.T) {
	for s, want := range map[string]string{"": "    ", "東": "東  ", "train": "train"} {
		if got := Pad(s, 4); got != want {
			t.Errorf("Pad(%q, 4) = %q, want %q", s, got, want)
		}
	}
}

func FuzzCut(f *testing.F) {
	for i, s := range hostile() {
		f.Add(s, i)
	}
	f.Fuzz(func(t *testing.T, s string, cells int) {
		cells %= 1000
		clean := Clean(s)
		for _, ellipsis := range []string{"…", "+", ""} {
			got := Cut(clean, cells, ellipsis)
			if Width(got) > max(cells, 0) {
				t.Errorf("Cut(%q, %d) = %q is %d cells", clean, cells, got, Width(got))
			}
			if got != clean && !strings.HasPrefix(clean, strings.TrimSuffix(got, ellipsis)) {
				t.Errorf("Cut(%q, %d) = %q is no beginning of it", clean, cells, got)
			}
		}
	})
}

// TestOneCell checks the runes that OneCell accepts against the table of ansi.StringWidth, which
// OneCell does not use.
func TestOneCell(t *testing.T) {
	for r := range rune(0x3000) {
		if s := "a" + string(r) + "b"; OneCell(r) && ansi.StringWidth(s) != 3 {
			t.Errorf("%q takes %d cells", r, ansi.StringWidth(s)-2)
		}
	}
}
