package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"vramscope/ui/cell"
)

// TestScreens is whole screens over size × glyphs × state, as text. Run with
// -update to accept what they are now, and look at the difference.
func TestScreens(t *testing.T) {
	sizes := [][2]int{{30, 3}, {40, 8}, {60, 11}, {80, 24}, {120, 40}, {200, 50}}
	states := boxes()
	for _, name := range []string{"drawn", "day-one", "sixteen", "driver", "past"} {
		for _, size := range sizes {
			for set, g := range map[string]cell.Glyphs{"unicode": cell.UnicodeGlyphs(), "ascii": cell.ASCIIGlyphs()} {
				if set == "ascii" && size[0] != 80 && size[0] != 60 {
					continue
				}
				t.Run(fmt.Sprintf("%s-%dx%d-%s", name, size[0], size[1], set), func(t *testing.T) {
					lk := drawnLook(t)
					lk.Glyphs = g
					compareScreen(t, states[name](size[0], size[1]), lk)
				})
			}
		}
	}
	t.Run("drawn-300x80-unicode", func(t *testing.T) { compareScreen(t, states["drawn"](300, 80), drawnLook(t)) })
}

// TestThemedScreens is one screen in every theme and every kind of terminal,
// with its escape sequences.
func TestThemedScreens(t *testing.T) {
	for _, c := range []struct {
		theme   string
		dark    bool
		profile colorprofile.Profile
	}{
		{"dark", true, colorprofile.TrueColor}, {"light", false, colorprofile.TrueColor},
		{"high-contrast", true, colorprofile.TrueColor}, {"high-contrast", false, colorprofile.TrueColor},
		{"colorblind", true, colorprofile.TrueColor}, {"terminal", true, colorprofile.TrueColor},
		{"vramscope", true, colorprofile.ANSI256}, {"vramscope", true, colorprofile.ANSI}, {"vramscope", true, colorprofile.ASCII},
	} {
		for _, size := range [][2]int{{80, 24}, {40, 8}} {
			ground := map[bool]string{true: "dark", false: "light"}[c.dark]
			t.Run(fmt.Sprintf("%s-%s-%s-%dx%d", c.theme, ground, c.profile, size[0], size[1]), func(t *testing.T) {
				compareScreen(t, boxes()["drawn"](size[0], size[1]), lookOf(t, c.theme, c.dark, c.profile, cell.UnicodeGlyphs()))
			})
		}
	}
}

func compareScreen(t *testing.T, st *state, lk *cell.Appearance) {
	t.Helper()
	lines := frame(st, lk)
	checkFrame(t, t.Name(), lines, st.width, st.height)
	golden.RequireEqual(t, strings.Join(lines, "\n")+"\n")
}
