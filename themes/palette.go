package themes

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// palette makes the styles of a theme for a terminal's colour profile. Without colours
// (NO_COLOR, a terminal that has none) the attributes remain; texture, "!" and ">" say the
// rest.
type palette struct {
	profile colorprofile.Profile
	made    map[string]Style // by escape sequence, so that styles that look alike are equal
}

func newPalette(profile colorprofile.Profile) palette {
	return palette{profile: profile, made: map[string]Style{}}
}

// style resolves a style. What is no terminal (NoTTY) gets no sequences.
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

// color is text in a colour.
func (p palette) color(hex string) Style { return p.style(ink(hex)) }

// bold is bold text in a colour.
func (p palette) bold(hex string) Style { return p.style(ink(hex).Bold(true)) }

// alarm is bold text on the colour.
func (p palette) alarm(hex string) Style { return p.style(ink(hex).Bold(true).Reverse(true)) }

func ink(hex string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(hex)) }

// theme is a theme by its name.
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

// The hues are the same in every theme: slate other, dim grey unknown, calm blue
// allocated, magenta fragmented, and a bright accent for what a flush frees, the one
// part that the reader can act on. They differ in lightness too,
// so that readers who see no hue, and photocopies, distinguish them.

// night is for dark grounds, from black to Solarized's base03.
func (p palette) night() Styles {
	s := p.plain(true)
	s.Dim, s.Header, s.Rule = p.color("#93a1b0"), p.color("#93a1b0"), p.color("#7d8b9a")
	s.Key = p.bold("#8fc1ff")
	s.Alarm, s.Leak, s.Warning = p.alarm("#ff6b6b"), p.bold("#ff7b72"), p.color("#e3b341")
	s.Match = p.alarm("#e3b341")
	s.Solid = true
	s.Other, s.Unknown = p.color("#7684ad"), p.color("#74787f")
	s.Allocated, s.Fragmented = p.color("#4b93f7"), p.color("#cf7fe6")
	s.Returnable, s.Free = p.color("#4fe3cb"), p.color("#66717e")
	s.History, s.Median = p.color("#4b93f7"), p.color("#f0c674")
	s.Bounds, s.Capacity = p.color("#a3a8b0"), p.color("#ff7b72")
	s.Ahead, s.Band = p.color("#27436b"), p.color("#4b5260")
	return s
}

// day is for light grounds, from white to Solarized's base3.
func (p palette) day() Styles {
	s := p.plain(false)
	s.Dim, s.Header, s.Rule = p.color("#57606a"), p.color("#57606a"), p.color("#67707a")
	s.Key = p.bold("#0b4fa8")
	s.Alarm, s.Leak, s.Warning = p.alarm("#b3141d"), p.bold("#b3141d"), p.color("#7d5300")
	s.Match = p.alarm("#7d5300")
	s.Solid = true
	s.Other, s.Unknown = p.color("#5a6685"), p.color("#84898f")
	s.Allocated, s.Fragmented = p.color("#2b6fd6"), p.color("#96279f")
	s.Returnable, s.Free = p.color("#008c82"), p.color("#8a929b")
	s.History, s.Median = p.color("#2b6fd6"), p.color("#7d5300")
	s.Bounds, s.Capacity = p.color("#646b74"), p.color("#b3141d")
	s.Ahead, s.Band = p.color("#b7cdf0"), p.color("#cdd3db")
	return s
}

// contrast keeps the hues of high lightness (or, on a light ground, of low)
// and dims nothing: for projectors, sunlight and tired eyes.
func (p palette) contrast(dark bool) Styles {
	s := p.plain(dark)
	s.Header, s.Solid = s.Strong, true
	if dark {
		s.Alarm, s.Leak, s.Warning = p.alarm("#ff8080"), p.bold("#ff8080"), p.bold("#ffe14d")
		s.Match = p.alarm("#ffe14d")
		s.Other, s.Unknown = p.color("#8f9bcb"), p.color("#8d9299")
		s.Allocated, s.Fragmented = p.color("#70b1ff"), p.color("#ff9dff")
		s.Returnable, s.Free = p.color("#a0fff4"), p.color("#a0a6ad")
		s.History, s.Median = p.color("#70b1ff"), p.color("#ffe14d")
		s.Bounds, s.Capacity = p.color("#c8ccd2"), p.color("#ff8080")
		s.Ahead, s.Band = p.color("#35588a"), p.color("#5c6473")
		return s
	}
	s.Alarm, s.Leak, s.Warning = p.alarm("#8f0000"), p.bold("#8f0000"), p.bold("#5c3d00")
	s.Match = p.alarm("#5c3d00")
	s.Other, s.Unknown = p.color("#1d2438"), p.color("#565c64")
	s.Allocated, s.Fragmented = p.color("#0c3fae"), p.color("#6a0068")
	s.Returnable, s.Free = p.color("#007f7a"), p.color("#5f666e")
	s.History, s.Median = p.color("#0c3fae"), p.color("#5c3d00")
	s.Bounds, s.Capacity = p.color("#565c64"), p.color("#8f0000")
	s.Ahead, s.Band = p.color("#a3bdea"), p.color("#bdc5d0")
	return s
}

// okabeIto uses the colours of Okabe and Ito, which readers with any of the
// common colour deficiencies distinguish.
// Source: https://jfly.uni-koeln.de/color/
func (p palette) okabeIto(dark bool) Styles {
	if dark {
		s := p.night()
		s.Allocated, s.Fragmented, s.Returnable = p.color("#3a9bdc"), p.color("#e69f00"), p.color("#f0e442")
		s.Warning, s.Median = p.color("#f0e442"), p.color("#e69f00")
		return s
	}
	s := p.day()
	s.Other, s.Unknown = p.color("#2f3e5c"), p.color("#747a82")
	s.Allocated, s.Fragmented, s.Returnable = p.color("#0072b2"), p.color("#a04300"), p.color("#009e73")
	return s
}

// sixteen uses the terminal's own colours. Every theme becomes this one where there are no
// others. Other, unknown and free keep the terminal's text colour and differ in texture.
// Bright black is never used: in Solarized it is the background. No text is blue, which on
// black is hardly readable in the default colours of xterm and PuTTY; on a light background
// no text is yellow.
func (p palette) sixteen(dark bool) Styles {
	s := p.plain(dark)
	const red, yellow, blue, magenta, cyan = "1", "3", "4", "5", "6"
	s.Alarm, s.Leak, s.Warning = p.alarm(red), p.bold(red), s.Strong
	s.Allocated, s.Fragmented, s.Returnable = p.color(blue), p.color(magenta), p.color(cyan)
	s.History, s.Capacity = p.color(blue), p.color(red)
	if dark {
		s.Warning, s.Median, s.Match = p.color(yellow), p.color(yellow), p.alarm(yellow)
	}
	return s
}

// plain has no colour: bold and reverse only.
func (p palette) plain(dark bool) Styles {
	bold := lipgloss.NewStyle().Bold(true)
	strong, reverse := p.style(bold), p.style(bold.Reverse(true))
	return Styles{
		Dark: dark, Strong: strong, Title: strong, Key: strong, Leak: strong,
		Cursor: p.style(lipgloss.NewStyle().Reverse(true)), Badge: reverse, Alarm: reverse, Match: reverse,
	}
}
