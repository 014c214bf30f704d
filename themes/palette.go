package themes

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// palette makes the styles of a theme for a terminal's colour profile. Without colours (NO_COLOR, or a
// terminal that has none) bold and reverse remain.
type palette struct {
	profile colorprofile.Profile
	made    map[string]Style // by escape sequence: styles that look alike are equal
}

func newPalette(profile colorprofile.Profile) palette {
	return palette{profile: profile, made: map[string]Style{}}
}

// style resolves a style. Output that is not a terminal (NoTTY) gets no escape sequences.
func (p palette) style(s lipgloss.Style) Style {
	if p.profile <= colorprofile.NoTTY {
		return Style{}
	}
	if c := s.GetForeground(); c != (lipgloss.NoColor{}) {
		s = s.Foreground(p.profile.Convert(c))
	}
	if c := s.GetBackground(); c != (lipgloss.NoColor{}) {
		s = s.Background(p.profile.Convert(c))
	}
	open, _, _ := strings.Cut(s.Render("x"), "x")
	if open == "" {
		return Style{}
	}
	if _, ok := p.made[open]; !ok {
		_, plain := s.GetBackground().(lipgloss.NoColor)
		onBlanks := s.GetReverse() || !plain
		p.made[open] = Style{&drawn{style: s, open: open, onBlanks: onBlanks}}
	}
	return p.made[open]
}

// ink returns a text colour, of xterm's 256 or of 24 bits. Both are chosen by hand, because rounding to 256
// colours would turn dim blue and grey text into teal.
func (p palette) ink(hex string, index uint8) lipgloss.Style {
	if p.profile == colorprofile.ANSI256 {
		return lipgloss.NewStyle().Foreground(ansi.IndexedColor(index))
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(hex))
}

func (p palette) color(hex string, index uint8) Style { return p.style(p.ink(hex, index)) }

func (p palette) bold(hex string, index uint8) Style { return p.style(p.ink(hex, index).Bold(true)) }

// alarm returns bold text on a background of the colour.
func (p palette) alarm(hex string, index uint8) Style {
	return p.style(p.ink(hex, index).Bold(true).Reverse(true))
}

func (p palette) hues(inks [6]string, indexes [6]uint8) (styles [6]Style) {
	for i := range styles {
		styles[i] = p.color(inks[i], indexes[i])
	}
	return styles
}

func (p palette) theme(name string, dark bool) Styles {
	switch {
	case name == "mono" || p.profile <= colorprofile.ASCII:
		return p.plain(dark)
	case name == "terminal" || p.profile == colorprofile.ANSI:
		return p.sixteen(dark)
	case name == "high-contrast":
		return p.contrast(dark)
	case name == "colorblind":
		return p.okabeIto(dark)
	case dark:
		return p.night()
	default:
		return p.day()
	}
}

// The hues are the same in night, day and contrast: slate for other, grey for unknown, blue for allocated, magenta for
// fragmented, and an accent for returnable, the only part that the reader can act on. They also differ in lightness.

// night returns the theme for dark backgrounds, from black to Solarized's base03.
func (p palette) night() Styles {
	s := p.plain(true)
	s.Dim, s.Header, s.Rule = p.color("#93a1b0", 247), p.color("#93a1b0", 247), p.color("#7d8b9a", 245)
	s.Key = p.bold("#8fc1ff", 111)
	s.Alarm, s.Leak, s.Warning = p.alarm("#ff6b6b", 203), p.bold("#ff7b72", 203), p.color("#e3b341", 179)
	s.Match = p.alarm("#e3b341", 179)
	s.Solid = true
	s.Other, s.Unknown = p.color("#7684ad", 103), p.color("#74787f", 243)
	s.Allocated, s.Fragmented = p.color("#4b93f7", 69), p.color("#cf7fe6", 176)
	s.Returnable, s.Free = p.color("#4fe3cb", 86), p.color("#66717e", 241)
	s.History, s.Median = p.color("#4b93f7", 69), p.color("#f0c674", 222)
	s.Bounds, s.Capacity = p.color("#a3a8b0", 248), p.color("#ff7b72", 203)
	s.Faded = [5]Style{p.color("#3b4257", 60), p.color("#3a3c40", 238), p.color("#27477a", 25), p.color("#66407a", 96), p.color("#26706a", 30)}
	s.Veil = [3]Style{p.color("#4f5868", 240), p.color("#343a45", 236), p.color("#23272f", 234)}
	s.Owners = p.hues([6]string{"#5aa9e6", "#e08e6d", "#9ccc65", "#b39ddb", "#d78fbf", "#3fb8a9"}, [6]uint8{74, 173, 149, 140, 175, 37})
	return s
}

// day returns the theme for light backgrounds, from white to Solarized's base3.
func (p palette) day() Styles {
	s := p.plain(false)
	s.Dim, s.Header, s.Rule = p.color("#57606a", 241), p.color("#57606a", 241), p.color("#67707a", 242)
	s.Key = p.bold("#0b4fa8", 25)
	s.Alarm, s.Leak, s.Warning = p.alarm("#b3141d", 124), p.bold("#b3141d", 124), p.color("#7d5300", 94)
	s.Match = p.alarm("#7d5300", 94)
	s.Solid = true
	s.Other, s.Unknown = p.color("#5a6685", 60), p.color("#84898f", 245)
	s.Allocated, s.Fragmented = p.color("#2b6fd6", 26), p.color("#96279f", 127)
	s.Returnable, s.Free = p.color("#008c82", 30), p.color("#8a929b", 246)
	s.History, s.Median = p.color("#2b6fd6", 26), p.color("#7d5300", 94)
	s.Bounds, s.Capacity = p.color("#646b74", 242), p.color("#b3141d", 124)
	s.Faded = [5]Style{p.color("#b6bfd3", 146), p.color("#d3d6da", 251), p.color("#a9c6f2", 153), p.color("#dcb4e2", 182), p.color("#9ed6d1", 116)}
	s.Veil = [3]Style{p.color("#c3cad4", 250), p.color("#dfe3e9", 254), p.color("#eff1f4", 255)}
	s.Owners = p.hues([6]string{"#1f6fb2", "#b3521e", "#4d7c0f", "#6a4fb3", "#b02a7a", "#0b7c72"}, [6]uint8{25, 130, 64, 61, 125, 30})
	return s
}

// contrast uses the hues at high lightness (on a light background, at low lightness) and dims no text.
func (p palette) contrast(dark bool) Styles {
	s := p.plain(dark)
	s.Header, s.Solid = s.Strong, true
	if dark {
		s.Alarm, s.Leak, s.Warning = p.alarm("#ff8080", 210), p.bold("#ff8080", 210), p.bold("#ffe14d", 221)
		s.Match = p.alarm("#ffe14d", 221)
		s.Other, s.Unknown = p.color("#8f9bcb", 104), p.color("#8d9299", 245)
		s.Allocated, s.Fragmented = p.color("#70b1ff", 75), p.color("#ff9dff", 219)
		s.Returnable, s.Free = p.color("#a0fff4", 159), p.color("#a0a6ad", 247)
		s.History, s.Median = p.color("#70b1ff", 75), p.color("#ffe14d", 221)
		s.Bounds, s.Capacity = p.color("#c8ccd2", 251), p.color("#ff8080", 210)
		s.Faded = [5]Style{p.color("#4a5273", 60), p.color("#4b4e53", 239), p.color("#35588a", 25), p.color("#7c4a80", 96), p.color("#3f8a84", 30)}
		s.Veil = [3]Style{p.color("#667080", 242), p.color("#454b57", 237), p.color("#2b2f37", 235)}
		s.Owners = p.hues([6]string{"#7cc4ff", "#ffb08f", "#b8f26b", "#cdb8ff", "#ff9bd5", "#5cf0dc"}, [6]uint8{117, 216, 155, 183, 212, 86})
		return s
	}
	s.Alarm, s.Leak, s.Warning = p.alarm("#8f0000", 88), p.bold("#8f0000", 88), p.bold("#5c3d00", 58)
	s.Match = p.alarm("#5c3d00", 58)
	s.Other, s.Unknown = p.color("#1d2438", 17), p.color("#565c64", 240)
	s.Allocated, s.Fragmented = p.color("#0c3fae", 19), p.color("#6a0068", 53)
	s.Returnable, s.Free = p.color("#007f7a", 30), p.color("#5f666e", 242)
	s.History, s.Median = p.color("#0c3fae", 19), p.color("#5c3d00", 58)
	s.Bounds, s.Capacity = p.color("#565c64", 240), p.color("#8f0000", 88)
	s.Faded = [5]Style{p.color("#9aa4bd", 103), p.color("#bcc0c6", 249), p.color("#8fb0ea", 111), p.color("#cf9bd0", 176), p.color("#7cc7c0", 79)}
	s.Veil = [3]Style{p.color("#aab3c0", 248), p.color("#cfd5de", 252), p.color("#e8ebef", 255)}
	s.Owners = p.hues([6]string{"#0b3f8a", "#7a2f00", "#2f5500", "#45258f", "#7d0050", "#00554d"}, [6]uint8{19, 88, 22, 55, 89, 23})
	return s
}

// okabeIto uses textures and the colours of Okabe and Ito, which readers with the common colour deficiencies distinguish.
// Source: https://jfly.uni-koeln.de/color/
func (p palette) okabeIto(dark bool) Styles {
	if dark {
		s := p.night()
		s.Solid, s.Hatched = false, true
		s.Allocated, s.Fragmented, s.Returnable = p.color("#3a9bdc", 74), p.color("#e69f00", 172), p.color("#f0e442", 227)
		s.Warning, s.Median = p.color("#f0e442", 227), p.color("#e69f00", 172)
		s.Faded[2], s.Faded[3], s.Faded[4] = p.color("#1f4f70", 24), p.color("#6e4c00", 94), p.color("#6f6a20", 100)
		s.Owners = p.hues([6]string{"#56b4e9", "#e69f00", "#00b583", "#f0e442", "#cc79a7", "#e8590c"}, [6]uint8{74, 172, 36, 227, 175, 166})
		return s
	}
	s := p.day()
	s.Solid, s.Hatched = false, true
	s.Other, s.Unknown = p.color("#2f3e5c", 237), p.color("#747a82", 245)
	s.Allocated, s.Fragmented, s.Returnable = p.color("#0072b2", 25), p.color("#a04300", 130), p.color("#009e73", 36)
	s.Faded[2], s.Faded[3], s.Faded[4] = p.color("#a3c8e2", 153), p.color("#e3c0a3", 223), p.color("#a3dcc9", 115)
	s.Owners = p.hues([6]string{"#0072b2", "#a04300", "#00805d", "#7a5c00", "#a8457f", "#2b2b6b"}, [6]uint8{25, 130, 29, 94, 132, 17})
	return s
}

// sixteen uses the terminal's own colours. Every theme but mono becomes this one on a terminal that
// has no other colours. Other, unknown and free keep the terminal's text colour and differ in texture.
// Bright black is never used, because it is the background in Solarized. On a dark background red is the
// bright red, because black text on the usual red is hardly readable. No text and no line of a graph
// is blue, because blue on black is hardly readable in the default colours of xterm and PuTTY. On a
// light background no text is yellow.
func (p palette) sixteen(dark bool) Styles {
	s := p.plain(dark)
	own := func(index ansi.BasicColor) lipgloss.Style { return lipgloss.NewStyle().Foreground(index) }
	color := func(index ansi.BasicColor) Style { return p.style(own(index)) }
	alarm := func(index ansi.BasicColor) Style { return p.style(own(index).Bold(true).Reverse(true)) }
	red := ansi.BrightRed
	if !dark {
		red = ansi.Red
	}
	s.Alarm, s.Leak, s.Warning = alarm(red), p.style(own(red).Bold(true)), s.Strong
	s.Allocated, s.Fragmented, s.Returnable = color(ansi.Blue), color(ansi.Magenta), color(ansi.Cyan)
	s.Capacity = color(red)
	s.Owners = [6]Style{color(ansi.Cyan), color(ansi.Magenta), color(ansi.Green), p.style(own(ansi.Cyan).Bold(true)), p.style(own(ansi.Magenta).Bold(true)), p.style(own(ansi.Green).Bold(true))}
	if dark {
		s.Warning, s.Median, s.Match = color(ansi.Yellow), color(ansi.Yellow), alarm(ansi.Yellow)
	}
	return s
}

// plain uses bold and reverse, and no colour.
func (p palette) plain(dark bool) Styles {
	bold := lipgloss.NewStyle().Bold(true)
	strong, reverse := p.style(bold), p.style(bold.Reverse(true))
	return Styles{
		Dark: dark, Strong: strong, Title: strong, Key: strong, Leak: strong,
		Cursor: p.style(lipgloss.NewStyle().Reverse(true)), Badge: reverse, Alarm: reverse, Match: reverse,
	}
}
