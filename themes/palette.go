package themes

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"
)

// ink is how one meaning is drawn: a colour, nil for the terminal's own, and
// attributes. Where there is no colour (NO_COLOR, a terminal without any) the
// attributes of mono are what is left: texture, "!" and ">" carry the rest.
type ink struct {
	color   color.Color
	bold    bool
	reverse bool
}

// palette is a theme before it meets a terminal.
type palette struct {
	dark bool

	text, dim, strong, header, key, title, rule, cursor, badge ink
	alarm, leak, warning                                       ink
	other, unknown, allocated, stuck, returnable, free         ink
	history, median, bounds, capacity                          ink
}

// The hues are the same in every theme: slate other, grey unknown, blue
// allocated, magenta stuck, cyan returnable. They differ in lightness too, so
// that a reader who sees no hue, and a photocopy, still tell them apart.

// night is for dark grounds, from black to Solarized's base03.
func night() palette {
	p := plain(true)
	dim := hex(0x93a1b0)
	p.dim, p.header, p.rule = ink{color: dim}, ink{color: dim}, ink{color: hex(0x7d8b9a)}
	p.key, p.title = ink{color: hex(0x8fc1ff), bold: true}, ink{bold: true}
	p.alarm, p.leak = ink{color: hex(0xff6b6b), bold: true, reverse: true}, ink{color: hex(0xff7b72), bold: true}
	p.warning = ink{color: hex(0xe3b341)}
	p.other = ink{color: hex(0x6f7ea3)}
	p.unknown = ink{color: hex(0xb9bfc8)}
	p.allocated = ink{color: hex(0x4292f5)}
	p.stuck = ink{color: hex(0xd88aec)}
	p.returnable = ink{color: hex(0x7ee8df)}
	p.free = ink{color: hex(0x66717e)}
	p.history, p.median = ink{color: hex(0x4292f5)}, ink{color: hex(0xf0c674)}
	p.bounds, p.capacity = ink{color: hex(0xa3a8b0)}, ink{color: hex(0xff7b72)}
	return p
}

// day is for light grounds, from white to Solarized's base3.
func day() palette {
	p := plain(false)
	dim := hex(0x57606a)
	p.dim, p.header, p.rule = ink{color: dim}, ink{color: dim}, ink{color: hex(0x67707a)}
	p.key, p.title = ink{color: hex(0x0b4fa8), bold: true}, ink{bold: true}
	p.alarm, p.leak = ink{color: hex(0xb3141d), bold: true, reverse: true}, ink{color: hex(0xb3141d), bold: true}
	p.warning = ink{color: hex(0x7d5300)}
	p.other = ink{color: hex(0x2f3e5c)}
	p.unknown = ink{color: hex(0x747a82)}
	p.allocated = ink{color: hex(0x1f66d0)}
	p.stuck = ink{color: hex(0x80218f)}
	p.returnable = ink{color: hex(0x0e97a0)}
	p.free = ink{color: hex(0x8a929b)}
	p.history, p.median = ink{color: hex(0x1f66d0)}, ink{color: hex(0x7d5300)}
	p.bounds, p.capacity = ink{color: hex(0x646b74)}, ink{color: hex(0xb3141d)}
	return p
}

// contrast keeps the hues of high lightness (or, on a light ground, of low)
// and dims nothing: for projectors, sunlight and tired eyes.
func contrast(dark bool) palette {
	p := plain(dark)
	p.header, p.key = ink{bold: true}, ink{bold: true}
	if dark {
		p.alarm, p.leak = ink{color: hex(0xff8080), bold: true, reverse: true}, ink{color: hex(0xff8080), bold: true}
		p.warning = ink{color: hex(0xffe14d), bold: true}
		p.other, p.unknown = ink{color: hex(0x8c96c4)}, ink{color: hex(0xd5d9de)}
		p.allocated, p.stuck = ink{color: hex(0x70b1ff)}, ink{color: hex(0xff9dff)}
		p.returnable, p.free = ink{color: hex(0xa0fff4)}, ink{color: hex(0xa0a6ad)}
		p.history, p.median = ink{color: hex(0x70b1ff)}, ink{color: hex(0xffe14d)}
		p.bounds, p.capacity = ink{color: hex(0xc8ccd2)}, ink{color: hex(0xff8080)}
		return p
	}
	p.alarm, p.leak = ink{color: hex(0x8f0000), bold: true, reverse: true}, ink{color: hex(0x8f0000), bold: true}
	p.warning = ink{color: hex(0x5c3d00), bold: true}
	p.other, p.unknown = ink{color: hex(0x1d2438)}, ink{color: hex(0x565c64)}
	p.allocated, p.stuck = ink{color: hex(0x0c3fae)}, ink{color: hex(0x6a0068)}
	p.returnable, p.free = ink{color: hex(0x007f7a)}, ink{color: hex(0x5f666e)}
	p.history, p.median = ink{color: hex(0x0c3fae)}, ink{color: hex(0x5c3d00)}
	p.bounds, p.capacity = ink{color: hex(0x565c64)}, ink{color: hex(0x8f0000)}
	return p
}

// okabeIto uses the colours of Okabe and Ito, which readers with any of the
// common colour deficiencies tell apart.
// Source: https://jfly.uni-koeln.de/color/
func okabeIto(dark bool) palette {
	p := day()
	if dark {
		p = night()
		p.other, p.unknown = ink{color: hex(0x7d828c)}, ink{color: hex(0xb8bcc4)}
		p.allocated, p.stuck = ink{color: hex(0x3a9bdc)}, ink{color: hex(0xe69f00)}
		p.returnable = ink{color: hex(0xf0e442)}
		p.warning, p.median = ink{color: hex(0xf0e442)}, ink{color: hex(0xe69f00)}
		return p
	}
	p.allocated, p.stuck = ink{color: hex(0x0072b2)}, ink{color: hex(0xa04300)}
	p.returnable = ink{color: hex(0x009e73)}
	return p
}

// sixteen is the terminal's own colours, and what any theme becomes where
// there are no others. Other, unknown and free keep the terminal's own text
// colour, texture tells them; bright black is never used: in Solarized it is
// the ground. No text is blue, which on black is hardly read in xterm's and
// PuTTY's own colours, nor, on a light ground, yellow.
func sixteen(dark bool) palette {
	p := plain(dark)
	p.alarm, p.leak = ink{color: ansi.Red, bold: true, reverse: true}, ink{color: ansi.Red, bold: true}
	p.warning = ink{bold: true}
	p.allocated, p.stuck, p.returnable = ink{color: ansi.Blue}, ink{color: ansi.Magenta}, ink{color: ansi.Cyan}
	p.history, p.capacity = ink{color: ansi.Blue}, ink{color: ansi.Red}
	if dark {
		p.warning, p.median = ink{color: ansi.Yellow}, ink{color: ansi.Yellow}
	}
	return p
}

// plain is a palette without any colour: bold and reverse only.
func plain(dark bool) palette {
	return palette{
		dark:   dark,
		strong: ink{bold: true}, title: ink{bold: true}, key: ink{bold: true},
		cursor: ink{reverse: true}, badge: ink{bold: true, reverse: true},
		alarm: ink{bold: true, reverse: true}, leak: ink{bold: true},
	}
}

func hex(rgb uint32) color.Color {
	return color.RGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 0xff}
}
