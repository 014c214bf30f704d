package themes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Names lists the themes in the order in which a key walks through them.
func Names() []string {
	return []string{"vramscope", "dark", "light", "high-contrast", "colorblind", "terminal", "mono"}
}

// Default is the theme of whoever has not asked for one.
const Default = "vramscope"

// New resolves a theme for a terminal with so many colours. Themes that come
// in two halves follow dark, the terminal's ground; "dark" and "light" say it
// themselves. Where the terminal has 16 colours every theme is "terminal",
// where it has none (NO_COLOR) every one is "mono".
func New(name string, dark bool, profile colorprofile.Profile) (Styles, error) {
	if name == "" {
		name = Default
	}
	if !slices.Contains(Names(), name) {
		return Styles{}, fmt.Errorf("themes: no theme %q: there are %s", name, strings.Join(Names(), ", "))
	}
	switch name {
	case "dark":
		dark = true
	case "light":
		dark = false
	}
	return resolve(name, paletteOf(name, dark, profile), profile), nil
}

func paletteOf(name string, dark bool, profile colorprofile.Profile) palette {
	switch {
	case name == "mono" || profile <= colorprofile.ASCII:
		return plain(dark)
	case name == "terminal" || profile == colorprofile.ANSI:
		return sixteen(dark)
	case name == "high-contrast":
		return contrast(dark)
	case name == "colorblind":
		return okabeIto(dark)
	case dark:
		return night()
	default:
		return day()
	}
}

func resolve(name string, p palette, profile colorprofile.Profile) Styles {
	style := func(i ink) Style { return i.style(profile) }
	return Styles{
		Name: name, Dark: p.dark,
		Text: style(p.text), Dim: style(p.dim), Strong: style(p.strong), Header: style(p.header),
		Key: style(p.key), Title: style(p.title), Rule: style(p.rule),
		Cursor: style(p.cursor), Badge: style(p.badge),
		Alarm: style(p.alarm), Leak: style(p.leak), Warning: style(p.warning),
		Other: style(p.other), Unknown: style(p.unknown), Allocated: style(p.allocated),
		Fragmented: style(p.stuck), Returnable: style(p.returnable), Free: style(p.free),
		History: style(p.history), Median: style(p.median), Bounds: style(p.bounds), Capacity: style(p.capacity),
	}
}

// style writes the ink's escape sequence for a terminal with so many colours.
// A terminal that is none (NoTTY) gets no sequence at all.
func (i ink) style(profile colorprofile.Profile) Style {
	if profile == colorprofile.NoTTY || profile == colorprofile.Unknown {
		return Style{}
	}
	var sgr ansi.Style
	if i.bold {
		sgr = sgr.Bold()
	}
	if i.reverse {
		sgr = sgr.Reverse(true)
	}
	if i.color != nil {
		if c := profile.Convert(i.color); c != nil {
			sgr = sgr.ForegroundColor(c)
		}
	}
	if len(sgr) == 0 {
		return Style{}
	}
	return Style{open: sgr.String(), reverse: i.reverse}
}
