package themes

import (
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/lucasb-eyer/go-colorful"
)

// grounds are common backgrounds, by whether they are dark: the extremes, those of editors, and
// Solarized's, which leave the least contrast.
var grounds = map[bool][]color.Color{
	true:  {hex("#000000"), hex("#1e1e1e"), hex("#002b36"), hex("#282c34")},
	false: {hex("#ffffff"), hex("#fdf6e3"), hex("#f6f8fa")},
}

func coloured() []Styles {
	p := newPalette(colorprofile.TrueColor)
	return []Styles{p.night(), p.day(), p.contrast(true), p.contrast(false), p.okabeIto(true), p.okabeIto(false)}
}

// colorOf returns a style's own colour, nil if it has none.
func colorOf(s Style) color.Color {
	if c := s.Lipgloss().GetForeground(); c != (lipgloss.NoColor{}) {
		return c
	}
	return nil
}

func hex(rgb string) color.Color { return lipgloss.Color(rgb) }

// TestTextIsReadable checks that the colours of text, except those of owners, have a contrast of 4.5:1
// (WCAG 2.1, 1.4.3), and that bars and lines have the 3:1 of graphics.
func TestTextIsReadable(t *testing.T) {
	for i, p := range coloured() {
		for _, ground := range grounds[p.Dark] {
			text := map[string]Style{"dim": p.Dim, "header": p.Header, "key": p.Key, "alarm": p.Alarm, "leak": p.Leak, "warning": p.Warning, "match": p.Match}
			graphics := map[string]Style{"other": p.Other, "unknown": p.Unknown, "allocated": p.Allocated, "fragmented": p.Fragmented,
				"returnable": p.Returnable, "rule": p.Rule, "history": p.History, "median": p.Median, "capacity": p.Capacity}
			check := func(styles map[string]Style, minimum float64) {
				for what, style := range styles {
					c := colorOf(style)
					if c == nil {
						continue // the terminal's own
					}
					if got := contrastOf(c, ground); got < minimum {
						t.Errorf("theme %d (dark %v): %s on %v has contrast %.2f, want %.1f", i, p.Dark, what, ground, got, minimum)
					}
				}
			}
			check(text, 4.5)
			check(graphics, 3)
		}
	}
}

// TestPartsDifferInLightness: the five parts of a bar differ without their hues.
func TestPartsDifferInLightness(t *testing.T) {
	for i, p := range coloured() {
		parts := []Style{p.Other, p.Unknown, p.Allocated, p.Fragmented, p.Returnable}
		lightness := make([]float64, len(parts))
		for j, part := range parts {
			lightness[j] = lightnessOf(colorOf(part))
		}
		slices.Sort(lightness)
		for j := 1; j < len(lightness); j++ {
			if lightness[j]-lightness[j-1] < 3.5 {
				t.Errorf("theme %d (dark %v): parts have lightness %.1f, two of them too close", i, p.Dark, lightness)
				break
			}
		}
	}
}

// TestCachedIsTheBrightest: on a dark background cached memory is the brightest part. A texture shows only its share of
// the colour.
func TestCachedIsTheBrightest(t *testing.T) {
	for i, p := range coloured() {
		if !p.Solid && !p.Hatched {
			t.Errorf("theme %d (dark %v): cached is drawn as ░, a quarter of its colour", i, p.Dark)
		}
		share := [5]float64{1, 1, 1, 1, 1}
		if p.Hatched { // ▓ ▄ ▇ ▒ ▚
			share = [5]float64{.75, .5, .875, .5, .5}
		}
		cached := lightnessAt(share[4] * luminance(colorOf(p.Returnable)))
		for j, part := range []Style{p.Other, p.Unknown, p.Allocated, p.Fragmented} {
			if l := lightnessAt(share[j] * luminance(colorOf(part))); p.Dark && l > cached-3.5 {
				t.Errorf("theme %d: a part has lightness %.1f, cached %.1f", i, l, cached)
			}
		}
	}
}

var sgr = regexp.MustCompile(`\x1b\[([0-9;:]*)m`)

// TestForecastIsNearItsPart: in 24 bits and in 256 colours, faded allocated, fragmented and returnable
// memory keep their hues, no two parts look alike, and dim text has no hue. Rounding to 256 colours makes
// dim blue and grey text teal.
func TestForecastIsNearItsPart(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256} {
		for _, name := range []string{"vramscope", "high-contrast", "colorblind"} {
			for _, dark := range []bool{true, false} {
				s, err := New(name, dark, profile)
				if err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s, dark %v, %v", name, dark, profile)
				parts := []Style{s.Other, s.Unknown, s.Allocated, s.Fragmented, s.Returnable}
				for i, part := range parts {
					for j, other := range parts {
						if i != j && turn(s.Faded[i], part) >= turn(s.Faded[i], other) && i >= 2 && j >= 2 {
							t.Errorf("%s: part %d faded has as much of part %d's hue as of its own", what, i, j)
						}
						if i < j && distance(part, other) < 12 {
							t.Errorf("%s: parts %d and %d look alike: %.0f apart", what, i, j, distance(part, other))
						}
					}
				}
				if c := colorOf(s.Dim); c != nil {
					if r, g, b, _ := c.RGBA(); float64(max(r, g, b)-min(r, g, b))/65535 > .13 {
						t.Errorf("%s: dim text has a hue: %v", what, c)
					}
				}
			}
		}
	}
}

// TestOwnersDiffer: the hues of owners are visible on each of the grounds, and no two look alike.
func TestOwnersDiffer(t *testing.T) {
	for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.ANSI256} {
		for _, name := range []string{"vramscope", "high-contrast", "colorblind"} {
			for _, dark := range []bool{true, false} {
				s, err := New(name, dark, profile)
				if err != nil {
					t.Fatal(err)
				}
				for i, owner := range s.Owners {
					for _, ground := range grounds[dark] {
						if got := contrastOf(colorOf(owner), ground); got < 3 {
							t.Errorf("%s, dark %v, %v: owner %d on %v has contrast %.2f", name, dark, profile, i, ground, got)
						}
					}
					for j, other := range s.Owners[:i] {
						if distance(owner, other) < 15 {
							t.Errorf("%s, dark %v, %v: owners %d and %d look alike: %.0f apart", name, dark, profile, i, j, distance(owner, other))
						}
					}
				}
			}
		}
	}
}

// distance returns how different two colours look: their Euclidean distance in CIE L*a*b*.
func distance(a, b Style) float64 {
	x, _ := colorful.MakeColor(colorOf(a))
	y, _ := colorful.MakeColor(colorOf(b))
	return 100 * x.DistanceLab(y)
}

// turn returns the angle between two hues, in degrees.
func turn(a, b Style) float64 {
	x, _ := colorful.MakeColor(colorOf(a))
	y, _ := colorful.MakeColor(colorOf(b))
	h, _, _ := x.Hcl()
	k, _, _ := y.Hcl()
	return min(math.Abs(h-k), 360-math.Abs(h-k))
}

// TestNoColour: with NO_COLOR only bold and reverse are left. Alarms, the cursor, badges and matches
// are reversed.
func TestNoColour(t *testing.T) {
	for _, name := range Names() {
		for _, dark := range []bool{true, false} {
			styles, err := New(name, dark, colorprofile.ASCII)
			if err != nil {
				t.Fatal(err)
			}
			for what, style := range all(styles) {
				for _, match := range sgr.FindAllStringSubmatch(open(style), -1) {
					for code := range strings.SplitSeq(match[1], ";") {
						if code != "1" && code != "7" {
							t.Errorf("%s without colour: %s is %q", name, what, open(style))
						}
					}
				}
			}
			for what, style := range map[string]Style{"alarm": styles.Alarm, "cursor": styles.Cursor, "badge": styles.Badge, "match": styles.Match} {
				if !style.OnBlanks() || !strings.Contains(open(style), "7") {
					t.Errorf("%s without colour: %s is not reversed: %q", name, what, open(style))
				}
			}
		}
	}
}

// TestSixteenColours: no style is bright black or has a background, and other, unknown and free have
// the terminal's own colour.
func TestSixteenColours(t *testing.T) {
	for _, name := range Names() {
		styles, err := New(name, true, colorprofile.ANSI)
		if err != nil {
			t.Fatal(err)
		}
		for what, style := range all(styles) {
			for _, match := range sgr.FindAllStringSubmatch(open(style), -1) {
				for code := range strings.SplitSeq(match[1], ";") {
					if !slices.Contains([]string{"1", "7", "31", "91", "33", "34", "35", "36"}, code) {
						t.Errorf("%s in 16 colours: %s is %q", name, what, open(style))
					}
				}
			}
		}
		if styles.Other != styles.Text || styles.Unknown != styles.Text || styles.Free != styles.Text {
			t.Errorf("%s in 16 colours: other, unknown or free has a colour", name)
		}
	}
}

// TestSixteenColoursAreLegible: on a dark background no text and no line of a graph is red or blue, and
// on a light one none is yellow or bright red: common palettes of terminals make these hard to read.
func TestSixteenColoursAreLegible(t *testing.T) {
	for dark, badly := range map[bool][]string{true: {"31", "34"}, false: {"33", "91"}} { // xterm: black on its red has 3.6:1
		styles, err := New("terminal", dark, colorprofile.TrueColor)
		if err != nil {
			t.Fatal(err)
		}
		words := all(styles)
		delete(words, "allocated") // only for the blocks of a bar
		words["name of allocated"] = styles.AllocatedName
		for i, owner := range styles.Owners {
			words[fmt.Sprint("owner ", i)] = owner
		}
		for what, style := range words {
			for _, match := range sgr.FindAllStringSubmatch(open(style), -1) {
				if slices.ContainsFunc(strings.Split(match[1], ";"), func(code string) bool { return slices.Contains(badly, code) }) {
					t.Errorf("dark %v: %s is %q", dark, what, open(style))
				}
			}
		}
	}
}

// TestNoBackground: in no theme a style has a background, except the styles of Edge.
func TestNoBackground(t *testing.T) {
	background := regexp.MustCompile(`(^|;)(4[0-8]|10[0-7])(;|$)`)
	// The components of a foreground colour are numbers, too, and are removed first.
	foreground := regexp.MustCompile(`38[;:](2[;:]+\d+[;:]\d+[;:]\d+|5[;:]\d+)`)
	for _, name := range Names() {
		for _, profile := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
			for _, dark := range []bool{true, false} {
				styles, err := New(name, dark, profile)
				if err != nil {
					t.Fatal(err)
				}
				for what, style := range all(styles) {
					for _, match := range sgr.FindAllStringSubmatch(open(style), -1) {
						if codes := foreground.ReplaceAllString(match[1], ""); background.MatchString(codes) {
							t.Errorf("%s, %v: %s has a background: %q", name, profile, what, open(style))
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
		if open(style) != "" {
			t.Errorf("%s writes %q to what is no terminal", what, open(style))
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
	if got := string(styles.Text.Switch(nil, styles.Cursor)); got != ansi.ResetStyle {
		t.Errorf("back to plain text: %q", got)
	}
	if got := string(styles.Dim.Switch(nil, styles.Cursor)); got != ansi.ResetStyle+open(styles.Dim) {
		t.Errorf("from reverse to dim: %q", got)
	}
}

func all(s Styles) map[string]Style {
	return map[string]Style{
		"text": s.Text, "dim": s.Dim, "strong": s.Strong, "header": s.Header, "key": s.Key, "title": s.Title, "rule": s.Rule,
		"cursor": s.Cursor, "badge": s.Badge, "alarm": s.Alarm, "leak": s.Leak, "warning": s.Warning,
		"other": s.Other, "unknown": s.Unknown, "allocated": s.Allocated, "fragmented": s.Fragmented, "returnable": s.Returnable, "free": s.Free,
		"history": s.History, "median": s.Median, "bounds": s.Bounds, "capacity": s.Capacity,
	}
}

// open returns the sequence that starts a style.
func open(s Style) string {
	if s.drawn == nil {
		return ""
	}
	return s.open
}

// luminance returns WCAG's relative luminance.
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

// lightnessOf returns CIE L*.
func lightnessOf(c color.Color) float64 { return lightnessAt(luminance(c)) }

func lightnessAt(y float64) float64 {
	if y <= 216.0/24389 {
		return y * 24389 / 27
	}
	return 116*math.Cbrt(y) - 16
}
