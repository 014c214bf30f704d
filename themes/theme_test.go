package themes

import (
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// grounds are the backgrounds that people really have: the extremes and the
// two halves of Solarized, the least contrasty in wide use.
var grounds = map[bool][]color.Color{
	true:  {hex(0x000000), hex(0x1e1e1e), hex(0x002b36), hex(0x282c34)},
	false: {hex(0xffffff), hex(0xfdf6e3), hex(0xf6f8fa)},
}

func coloured() []palette {
	return []palette{night(), day(), contrast(true), contrast(false), okabeIto(true), okabeIto(false)}
}

// TestTextIsReadable holds every colour that text is written in to a contrast
// of 4.5:1 (WCAG 2.1, 1.4.3), and bars to the 3:1 of graphics.
func TestTextIsReadable(t *testing.T) {
	for i, p := range coloured() {
		for _, ground := range grounds[p.dark] {
			text := map[string]ink{"dim": p.dim, "header": p.header, "key": p.key, "alarm": p.alarm, "leak": p.leak, "warning": p.warning}
			for what, ink := range text {
				if ink.color == nil {
					continue // the terminal's own
				}
				if c := contrastOf(ink.color, ground); c < 4.5 {
					t.Errorf("palette %d (dark %v): %s on %v has contrast %.2f, want 4.5", i, p.dark, what, ground, c)
				}
			}
			graphics := map[string]ink{"other": p.other, "unknown": p.unknown, "allocated": p.allocated, "stuck": p.stuck,
				"returnable": p.returnable, "rule": p.rule, "history": p.history, "median": p.median, "capacity": p.capacity}
			for what, ink := range graphics {
				if c := contrastOf(colorOr(ink.color, ground), ground); ink.color != nil && c < 3 {
					t.Errorf("palette %d (dark %v): %s on %v has contrast %.2f, want 3", i, p.dark, what, ground, c)
				}
			}
		}
	}
}

// TestPartsDifferInLightness is rule 13: without any sense of hue the five
// parts of a bar still differ.
func TestPartsDifferInLightness(t *testing.T) {
	for i, p := range coloured() {
		parts := []ink{p.other, p.unknown, p.allocated, p.stuck, p.returnable}
		lightness := make([]float64, len(parts))
		for j, part := range parts {
			lightness[j] = lightnessOf(part.color)
		}
		slices.Sort(lightness)
		for j := 1; j < len(lightness); j++ {
			if lightness[j]-lightness[j-1] < 3.5 {
				t.Errorf("palette %d (dark %v): parts have lightness %.1f, two of them too close", i, p.dark, lightness)
				break
			}
		}
	}
}

var sgr = regexp.MustCompile(`\x1b\[([0-9;:]*)m`)

// TestNoColour is rule 15: with NO_COLOR only bold and reverse are left, and
// what must be seen still is.
func TestNoColour(t *testing.T) {
	for _, name := range Names() {
		for _, dark := range []bool{true, false} {
			styles, err := New(name, dark, colorprofile.ASCII)
			if err != nil {
				t.Fatal(err)
			}
			for what, style := range all(styles) {
				for _, match := range sgr.FindAllStringSubmatch(style.open, -1) {
					for code := range strings.SplitSeq(match[1], ";") {
						if code != "1" && code != "7" {
							t.Errorf("%s without colour: %s is %q", name, what, style.open)
						}
					}
				}
			}
			for what, style := range map[string]Style{"alarm": styles.Alarm, "cursor": styles.Cursor, "badge": styles.Badge} {
				if !style.Reversed() || !strings.Contains(style.open, "7") {
					t.Errorf("%s without colour: %s is not reversed: %q", name, what, style.open)
				}
			}
		}
	}
}

// TestSixteenColours is rule 14: no bright black, no background, and other,
// unknown and free in the terminal's own colour.
func TestSixteenColours(t *testing.T) {
	for _, name := range Names() {
		styles, err := New(name, true, colorprofile.ANSI)
		if err != nil {
			t.Fatal(err)
		}
		for what, style := range all(styles) {
			for _, match := range sgr.FindAllStringSubmatch(style.open, -1) {
				for code := range strings.SplitSeq(match[1], ";") {
					if !slices.Contains([]string{"1", "7", "31", "33", "34", "35", "36"}, code) {
						t.Errorf("%s in 16 colours: %s is %q", name, what, style.open)
					}
				}
			}
		}
		if styles.Other != styles.Text || styles.Unknown != styles.Text || styles.Free != styles.Text {
			t.Errorf("%s in 16 colours: other, unknown or free has a colour", name)
		}
	}
}

// TestSixteenColoursAreLegible: no text in a colour that the common palettes
// of terminals make unreadable on its ground.
func TestSixteenColoursAreLegible(t *testing.T) {
	for dark, bad := range map[bool]string{true: "34", false: "33"} {
		styles, err := New("terminal", dark, colorprofile.TrueColor)
		if err != nil {
			t.Fatal(err)
		}
		for what, style := range map[string]Style{
			"text": styles.Text, "dim": styles.Dim, "header": styles.Header, "key": styles.Key, "leak": styles.Leak, "warning": styles.Warning,
		} {
			for _, match := range sgr.FindAllStringSubmatch(style.open, -1) {
				if slices.Contains(strings.Split(match[1], ";"), bad) {
					t.Errorf("dark %v: %s is %q", dark, what, style.open)
				}
			}
		}
	}
}

// TestNoBackground is rule 14's last sentence, for every theme and profile.
func TestNoBackground(t *testing.T) {
	background := regexp.MustCompile(`(^|;)(4[0-8]|10[0-7])(;|$)`)
	// The components of a foreground colour are numbers too; they go first.
	foreground := regexp.MustCompile(`38[;:](2[;:]+\d+[;:]\d+[;:]\d+|5[;:]\d+)`)
	for _, name := range Names() {
		for _, profile := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
			for _, dark := range []bool{true, false} {
				styles, err := New(name, dark, profile)
				if err != nil {
					t.Fatal(err)
				}
				for what, style := range all(styles) {
					for _, match := range sgr.FindAllStringSubmatch(style.open, -1) {
						if codes := foreground.ReplaceAllString(match[1], ""); background.MatchString(codes) {
							t.Errorf("%s, %v: %s has a background: %q", name, profile, what, style.open)
						}
					}
				}
			}
		}
	}
}

func TestNotATerminal(t *testing.T) {
	styles, err := New("dark", true, colorprofile.NoTTY)
	if err != nil {
		t.Fatal(err)
	}
	for what, style := range all(styles) {
		if style.open != "" {
			t.Errorf("%s writes %q to what is no terminal", what, style.open)
		}
	}
}

func TestUnknownTheme(t *testing.T) {
	_, err := New("solarised", true, colorprofile.TrueColor)
	if err == nil || !strings.Contains(err.Error(), "high-contrast") {
		t.Errorf("error %v does not name the themes there are", err)
	}
}

func TestNamedHalves(t *testing.T) {
	for name, dark := range map[string]bool{"dark": true, "light": false} {
		styles, err := New(name, !dark, colorprofile.TrueColor)
		if err != nil || styles.Dark != dark {
			t.Errorf("%s: dark %v, %v", name, styles.Dark, err)
		}
	}
	night, _ := New("", true, colorprofile.TrueColor)
	day, _ := New("", false, colorprofile.TrueColor)
	if night.Allocated == day.Allocated {
		t.Error("the default theme does not follow the terminal's ground")
	}
}

func TestSwitch(t *testing.T) {
	styles, err := New("dark", true, colorprofile.TrueColor)
	if err != nil {
		t.Fatal(err)
	}
	if got := styles.Dim.Switch(nil, styles.Dim); len(got) != 0 {
		t.Errorf("switching to the same style writes %q", got)
	}
	if got := string(styles.Text.Switch(nil, styles.Cursor)); got != reset {
		t.Errorf("back to plain text: %q", got)
	}
	if got := string(styles.Dim.Switch(nil, styles.Cursor)); got != reset+styles.Dim.open {
		t.Errorf("from reverse to dim: %q", got)
	}
}

func all(s Styles) map[string]Style {
	return map[string]Style{
		"text": s.Text, "dim": s.Dim, "strong": s.Strong, "header": s.Header, "key": s.Key, "title": s.Title, "rule": s.Rule,
		"cursor": s.Cursor, "badge": s.Badge, "alarm": s.Alarm, "leak": s.Leak, "warning": s.Warning,
		"other": s.Other, "unknown": s.Unknown, "allocated": s.Allocated, "stuck": s.Fragmented, "returnable": s.Returnable, "free": s.Free,
		"history": s.History, "median": s.Median, "bounds": s.Bounds, "capacity": s.Capacity,
	}
}

func colorOr(c, fallback color.Color) color.Color {
	if c == nil {
		return fallback
	}
	return c
}

// luminance is WCAG's relative luminance.
// Source: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func contrastOf(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// lightnessOf is CIE L*.
func lightnessOf(c color.Color) float64 {
	y := luminance(c)
	if y <= 216.0/24389 {
		return y * 24389 / 27
	}
	return 116*math.Cbrt(y) - 16
}
