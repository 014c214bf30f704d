package terminal

import (
	"io"
	"strconv"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/text"
)

// screen draws frames, and writes only what differs from the frame before:
//
//	frame ── lines that differ ──→ cells ── runs that differ, by columns ──→ one write
//
// Bubble Tea's renderer would wake up ten times a second to see whether there is something to
// draw, and would compare all cells of the screen. Here lines are compared as text, and a
// frame is drawn as soon as it is there.
//
// Only one goroutine at a time may use it.
type screen struct {
	output io.Writer
	styles styles

	width, height int
	lines         []string // the frame that is shown
	rows          [][]cell // its cells
	next          [][]cell // the cells of the lines that differ in the frame that is being drawn
	valid         bool     // the terminal shows the frame
	view          tea.View // whose modes are set
	synchronized  bool     // frames are wrapped in mode 2026: the terminal shows none half drawn

	out     []byte
	runs    []run // what differs
	x, y    int   // the terminal's cursor; -1 where unknown
	current styleID
}

// Frame is the content of a screen: its lines, each as many cells as it is wide.
type Frame struct {
	Lines         []string
	Width, Height int
}

// newScreen returns a screen whose content is not known yet.
func newScreen(output io.Writer) *screen { return &screen{output: output, styles: newStyles()} }

// invalidate makes Paint draw all cells of the next frame.
func (s *screen) invalidate() { s.valid = false }

// Paint draws a frame and sets a view's modes. It writes nothing where nothing has
// changed.
func (s *screen) Paint(view tea.View, frame Frame) {
	if out := s.differences(view, frame); len(out) > 0 {
		if s.synchronized {
			out = append(out, ansi.ResetModeSynchronizedOutput...)
		} else {
			out = out[len(ansi.SetModeSynchronizedOutput):]
		}
		_, _ = s.output.Write(out) // a closed terminal is noticed by the output itself
	}
}

// differences is the output that turns the shown frame into another one. It begins with the
// sequence that starts synchronized output; it is empty where the frames are equal.
func (s *screen) differences(view tea.View, frame Frame) []byte {
	s.out = append(s.out[:0], ansi.SetModeSynchronizedOutput...)
	begin := len(s.out)
	s.setModes(view)
	s.x, s.y = -1, -1 // another program may have written to the terminal
	if !s.valid || frame.Width != s.width || frame.Height != s.height {
		s.clear(frame.Width, frame.Height)
	}
	s.draw(frame.Lines)
	s.turn(0)
	s.valid = true
	if len(s.out) == begin {
		return nil
	}
	return s.out
}

// setModes sets the title and the mouse mode, where they have changed.
func (s *screen) setModes(view tea.View) {
	if view.WindowTitle != s.view.WindowTitle {
		s.out = append(s.out, ansi.SetWindowTitle(view.WindowTitle)...)
	}
	if view.MouseMode != s.view.MouseMode {
		if view.MouseMode == tea.MouseModeNone {
			s.out = append(s.out, ansi.ResetModeMouseButtonEvent+ansi.ResetModeMouseExtSgr...)
		} else {
			s.out = append(s.out, ansi.SetModeMouseButtonEvent+ansi.SetModeMouseExtSgr...)
		}
	}
	s.view = view
}

// forgetModes makes the next frame set its modes again: the terminal's modes are off.
func (s *screen) forgetModes() { s.view = tea.View{} }

// clear erases the screen.
func (s *screen) clear(width, height int) {
	s.out = append(s.out, ansi.ResetStyle+ansi.CursorHomePosition+ansi.EraseEntireScreen...)
	s.x, s.y, s.current = 0, 0, 0
	s.lines = nil
	if width != s.width || height != s.height {
		s.width, s.height = width, height
		s.rows, s.next = make([][]cell, height), make([][]cell, height)
		for y := range s.rows {
			s.rows[y], s.next[y] = make([]cell, width), make([]cell, width)
		}
	}
	for _, row := range s.rows {
		for x := range row {
			row[x] = blank
		}
	}
}

// draw draws what differs, line by line. Only short runs in the same column, such as digits,
// are drawn one below the other.
func (s *screen) draw(lines []string) {
	s.runs = s.runs[:0]
	at := func(lines []string, y int) string {
		if y < len(lines) {
			return lines[y]
		}
		return "" // stands for blanks
	}
	for y := range s.rows {
		if line := at(lines, y); line != at(s.lines, y) {
			s.styles.read(line, s.next[y])
			s.differ(y)
			s.rows[y], s.next[y] = s.next[y], s.rows[y]
		}
	}
	for i := range s.runs {
		for i >= 0 && !s.runs[i].drawn {
			s.drawRun(&s.runs[i])
			i = s.below(i)
		}
	}
	s.lines = lines
}

// run is some cells of a line, from one column up to another. If it ends beyond the width,
// the rest of the line is erased.
type run struct {
	y, from, to int
	drawn       bool
}

// below finds the run below a short one; -1 where there is none.
func (s *screen) below(i int) int {
	r := s.runs[i]
	if r.to-r.from > len("\x1b[A") {
		return -1
	}
	for i++; i < len(s.runs) && s.runs[i].y <= r.y+1; i++ {
		if below := s.runs[i]; below.y == r.y+1 && below.from == r.from {
			return i
		}
	}
	return -1
}

// drawRun writes the cells of a run.
func (s *screen) drawRun(r *run) {
	r.drawn = true
	if r.to > s.width {
		s.moveTo(r.from, r.y)
		s.turn(0)
		s.out = append(s.out, ansi.EraseLineRight...)
		return
	}
	for x := r.from; x < r.to; x++ {
		if c := s.rows[r.y][x]; c.glyph != continuation {
			s.moveTo(x, r.y)
			s.put(c)
		}
	}
}

// differ adds the runs of cells that differ in a row. It joins two runs where the cells between
// them take no more bytes than a move.
func (s *screen) differ(y int) {
	row, next, first := s.rows[y], s.next[y], len(s.runs)
	end := s.width // from end on only blanks follow
	for end > 0 && next[end-1] == blank {
		end--
	}
	for x := 0; x < s.width; x++ {
		if row[x] == next[x] {
			continue
		}
		if x >= end && differing(row[x:], next[x:]) > len(ansi.EraseLineRight) {
			s.runs = append(s.runs, run{y: y, from: x, to: s.width + 1})
			return
		}
		from, to := x, x+1
		for from > 0 && next[from].glyph == continuation {
			from-- // half a glyph cannot be written
		}
		for to < s.width && next[to].glyph == continuation {
			to++
		}
		if n := len(s.runs); n > first && s.near(next, s.runs[n-1].to, from) {
			s.runs[n-1].to = to
		} else {
			s.runs = append(s.runs, run{y: y, from: from, to: to})
		}
		x = to - 1
	}
}

// differing counts the cells that differ.
func differing(row, next []cell) int {
	n := 0
	for x := range row {
		if row[x] != next[x] {
			n++
		}
	}
	return n
}

// near reports whether the cells between two runs may be written too: they are few, of one
// byte each, and in the style of the cell before them.
func (s *screen) near(row []cell, from, to int) bool {
	if to-from > len("\x1b[C") {
		return false
	}
	for x := from; x < to; x++ {
		c, before := row[x], row[x-1]
		if c.glyph >= utf8.RuneSelf || c.glyph == continuation || c.style != before.style && (c != blank || s.styles.onBlanks(before.style)) {
			return false
		}
	}
	return true
}

// moveTo moves the cursor in the fewest bytes: to a place, or from where it is, or from
// the start of its line.
func (s *screen) moveTo(x, y int) {
	if s.x == x && s.y == y {
		return
	}
	begin := len(s.out)
	s.out = strconv.AppendInt(append(s.out, "\x1b["...), int64(y+1), 10)
	if x > 0 {
		s.out = strconv.AppendInt(append(s.out, ';'), int64(x+1), 10)
	}
	s.out = append(s.out, 'H')
	if down := y - s.y; s.y >= 0 && down >= 0 && down < len("\x1b[H") {
		absolute := len(s.out)
		for _, from := range [...]int{0, s.x} {
			if from < 0 {
				continue
			}
			relative := len(s.out)
			if from == 0 && s.x != 0 {
				s.out = append(s.out, '\r')
			}
			for range down {
				s.out = append(s.out, '\n')
			}
			s.out = appendAcross(s.out, x-from)
			if len(s.out)-relative < absolute-begin {
				absolute = begin + copy(s.out[begin:], s.out[relative:])
			}
			s.out = s.out[:absolute]
		}
	}
	s.x, s.y = x, y
}

// appendAcross moves the cursor along its line.
func appendAcross(out []byte, columns int) []byte {
	direction := byte('C')
	switch {
	case columns == 0:
		return out
	case columns < 0 && columns > -len("\x1b[2D"):
		return append(out, "\b\b\b"[:-columns]...)
	case columns < 0:
		direction, columns = 'D', -columns
	}
	out = append(out, "\x1b["...)
	if columns > 1 {
		out = strconv.AppendInt(out, int64(columns), 10)
	}
	return append(out, direction)
}

// put writes a cell at the cursor.
func (s *screen) put(c cell) {
	if c.glyph != ' ' || s.styles.onBlanks(c.style) || s.styles.onBlanks(s.current) {
		s.turn(c.style)
	}
	s.out = utf8.AppendRune(s.out, c.glyph)
	s.x++
	// The place of the cursor is unknown after a glyph about whose width terminals may
	// disagree, and at the end of a line, where the cursor waits before it wraps.
	switch {
	case !text.OneCell(c.glyph):
		s.x, s.y = -1, -1
	case s.x >= s.width:
		s.x = -1
	}
}

// turn sets a style.
func (s *screen) turn(style styleID) {
	if style != s.current {
		s.out = append(s.out, s.styles.turn(s.current, style)...)
		s.current = style
	}
}
