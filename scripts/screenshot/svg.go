//go:build linux

package main

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// The size of a cell in the picture, and the margin around all cells.
const (
	cellWidth, cellHeight = 8, 17
	margin                = 12
)

// svg draws the screen cell by cell. Blocks are drawn as rectangles, so that
// the picture does not depend on the reader's fonts.
func (s *screen) svg() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	width, height := s.columns*cellWidth+2*margin, s.rows*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6" fill="%s"/>`+"\n", width, height, hex(s.bg))
	for y := range s.rows {
		s.row(&b, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// row writes one line: runs of text in one style, and blocks.
func (s *screen) row(b *strings.Builder, y int) {
	top := margin + y*cellHeight
	for x := 0; x < s.columns; {
		cell := s.emulator.CellAt(x, y)
		fg, bg, bold := s.colours(cell)
		end := x + 1
		for end < s.columns && s.alike(cell, s.emulator.CellAt(end, y)) {
			end++
		}
		left := margin + x*cellWidth
		if bg != s.bg {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, left, top, (end-x)*cellWidth, cellHeight, hex(bg))
		}
		if opacity, eighths, ok := block(content(cell)); ok {
			h := cellHeight * eighths / 8
			y0 := top + cellHeight - h
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" fill-opacity="%.2f"/>`, left, y0, (end-x)*cellWidth, h, hex(fg), opacity)
		} else {
			s.text(b, x, end, y, top, fg, bold)
		}
		x = end
	}
	b.WriteByte('\n')
}

// text writes the words of a run, each at its own cell: fonts differ in width, and blanks would add
// up the differences.
func (s *screen) text(b *strings.Builder, x, end, y, top int, fg color.RGBA, bold bool) {
	weight := ""
	if bold {
		weight = ` font-weight="bold"`
	}
	for i := x; i < end; {
		var word strings.Builder
		start := i
		for ; i < end && content(s.emulator.CellAt(i, y)) != " "; i++ {
			word.WriteString(content(s.emulator.CellAt(i, y)))
		}
		if i == start {
			i++
			continue
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" textLength="%d" fill="%s"%s>%s</text>`,
			margin+start*cellWidth, top+13, (i-start)*cellWidth, hex(fg), weight, html.EscapeString(word.String()))
	}
}

// alike reports whether two cells can be drawn in one piece.
func (s *screen) alike(a, b *uv.Cell) bool {
	fa, ba, wa := s.colours(a)
	fb, bb, wb := s.colours(b)
	_, _, blockA := block(content(a))
	_, _, blockB := block(content(b))
	if blockA || blockB {
		return content(a) == content(b) && fa == fb && ba == bb
	}
	return fa == fb && ba == bb && wa == wb
}

func content(c *uv.Cell) string {
	if c == nil || c.Content == "" {
		return " "
	}
	return c.Content
}

// block returns how a block element covers its cell: its opacity, and how many eighths from below.
func block(glyph string) (opacity float64, eighths int, ok bool) {
	switch glyph {
	case "▓":
		return .72, 8, true
	case "▒":
		return .48, 8, true
	case "░":
		return .26, 8, true
	}
	const lower = "▁▂▃▄▅▆▇█"
	if i := strings.Index(lower, glyph); glyph != "" && i >= 0 {
		return 1, i/len("█") + 1, true
	}
	return 0, 0, false
}

func (s *screen) colours(c *uv.Cell) (fg, bg color.RGBA, bold bool) {
	fg, bg = s.fg, s.bg
	if c == nil {
		return fg, bg, false
	}
	if c.Style.Fg != nil {
		fg = rgba(c.Style.Fg)
	}
	if c.Style.Bg != nil {
		bg = rgba(c.Style.Bg)
	}
	if c.Style.Attrs&uv.AttrReverse != 0 {
		fg, bg = bg, fg
	}
	return fg, bg, c.Style.Attrs&uv.AttrBold != 0
}

func rgba(c color.Color) color.RGBA {
	if basic, ok := c.(ansi.BasicColor); ok {
		c = xterm[basic]
	}
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 0xff}
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// xterm holds the 16 colours as xterm shows them unless it is configured otherwise.
var xterm = [16]ansi.RGBColor{
	{R: 0}, {R: 0xcd}, {G: 0xcd}, {R: 0xcd, G: 0xcd}, {B: 0xee}, {R: 0xcd, B: 0xcd}, {G: 0xcd, B: 0xcd}, {R: 0xe5, G: 0xe5, B: 0xe5},
	{R: 0x7f, G: 0x7f, B: 0x7f}, {R: 0xff}, {G: 0xff}, {R: 0xff, G: 0xff}, {R: 0x5c, G: 0x5c, B: 0xff}, {R: 0xff, B: 0xff}, {G: 0xff, B: 0xff}, {R: 0xff, G: 0xff, B: 0xff},
}
