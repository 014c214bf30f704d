package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// hostileTexts are what a process may call itself.
func hostileTexts() []string {
	return []string{
		"\x1b[2J\x1b[1;1Hgone", "\x1b]0;title\a", "\x1b]52;c;cm0gLXJm\x1b\\", "\x9b31mred\x9c", "\u009b2J",
		"a\rb\nc\td\x00e\x7f", "東京の深層学習.py", "👩‍👩‍👧‍👦 family 🇩🇪 👍🏽", "שלום \u202egnp.exe\u202c", "مرحبا بالعالم",
		"e\u0301\u0301\u0301\u0301\u0301 zalgo", "\u200b\u200d\ufeff\u2028\u2029", "ｆｕｌｌｗｉｄｔｈ", "ᄒ\u1161ᆫ", "ﾊﾞ", "\xff\xfe broken \xc3", "क्षत्रिय", "ก็็็็",
		strings.Repeat("x", 64<<10), strings.Repeat("字", 20<<10), strings.Repeat("\x1b[7m", 10<<10), "",
	}
}

// TestHostileNames: no name of a process breaks the layout or reaches the terminal as
// an escape sequence.
func TestHostileNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	for i, text := range hostileTexts() {
		for _, size := range [][2]int{{30, 3}, {40, 8}, {80, 24}, {200, 50}} {
			hostileScreen(t, fmt.Sprintf("text %d", i), text, size[0], size[1])
		}
	}
}

func hostileScreen(t *testing.T, what, text string, width, height int) {
	t.Helper()
	lk := lookOf(t, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	for _, change := range []func(st *state){
		func(*state) {},
		func(st *state) { st.at(snapshottest.Probeme, 3); st.ScrollX = 3; st.Tree = true },
		func(st *state) { st.Filter = text; st.message, st.messageUntil = text, st.now.AddDate(0, 0, 1) },
		func(st *state) { st.detail = true },
	} {
		st := screenOf(snapshottest.Hostile(snapshottest.DrawnBox(), text), width, height)
		change(st)
		checkFrame(t, what, frame(st, lk), width, height)
	}
	st := screenOf(snapshottest.Hostile(snapshottest.NoDriver(), text), width, height)
	checkFrame(t, what+", no driver", frame(st, lk), width, height)
}

func FuzzNames(f *testing.F) {
	for _, text := range hostileTexts() {
		if len(text) < 1000 {
			f.Add(text, uint8(80), uint8(24))
		}
	}
	f.Fuzz(func(t *testing.T, text string, width, height uint8) {
		hostileScreen(t, "fuzz", text, max(int(width), minWidth), max(int(height), minHeight))
	})
}
