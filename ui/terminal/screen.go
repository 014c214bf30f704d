package terminal

import (
	"io"
	"slices"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/text"
)

// screen draws frames, and writes only what differs from the frame before:
//
//	frame ── lines that differ ──→ cells that differ ──→ one write
//
// Bubble Tea's renderer would wake up at a fixed rate and compare all cells. Here lines are compared as text, and a frame
// is drawn at once. Only one goroutine at a time may use a screen.
type screen struct {
	output io.Writer
	styles styles

	width, height int
	lines         []string // the frame that is shown
	rows          [][]cell // its cells
	next          []cell   // a line of the frame that is being drawn
	valid         bool     // the terminal shows the frame; if not, the next one is drawn completely
	view          tea.View // the view whose modes are set
	synchronized  bool     // frames are wrapped in mode 2026, so that the terminal shows none half drawn

	out     []byte
	x, y    int // the terminal's cursor; -1 where unknown
	current styleID
}

// Frame is the content of a screen. Each line has Width cells.
type Frame struct {
	Lines         []string
	Width, Height int
}

func newScreen(output io.Writer) *screen {
	return &screen{output: output, styles: styles{ids: map[string]styleID{"": 0}, all: make([]uv.Style, 1), turns: map[[2]styleID]string{}}}
}

// Paint draws a frame and sets a view's modes. It writes nothing where nothing has changed.
func (s *screen) Paint(view tea.View, frame Frame) {
	out := s.differences(view, frame)
	if len(out) > 0 && s.synchronized {
		out = slices.Concat([]byte(ansi.SetModeSynchronizedOutput), out, []byte(ansi.ResetModeSynchronizedOutput))
	}
	if len(out) > 0 {
		_, _ = s.output.Write(out) // a closed terminal is noticed by the output itself
	}
}

// differences returns the output that sets a view's modes and turns the shown frame into another one.
func (s *screen) differences(view tea.View, frame Frame) []byte {
	s.out = s.out[:0]
	s.setModes(view)
	s.x, s.y = -1, -1 // another program may have written to the terminal
	if !s.valid || frame.Width != s.width || frame.Height != s.height {
		s.clear(frame.Width, frame.Height)
	}
	s.draw(frame.Lines)
	s.turn(0)
	s.valid = true
	return s.out
}

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

func (s *screen) clear(width, height int) {
	s.out = append(s.out, ansi.ResetStyle+ansi.CursorHomePosition+ansi.EraseEntireScreen...)
	s.x, s.y, s.current = 0, 0, 0
	s.width, s.height = width, height
	s.lines, s.next = nil, make([]cell, width)
	s.rows = make([][]cell, height)
	for y := range s.rows {
		s.rows[y] = slices.Repeat([]cell{blank}, width)
	}
}

func (s *screen) draw(lines []string) {
	at := func(lines []string, y int) string {
		if y < len(lines) {
			return lines[y]
		}
		return "" // stands for blanks
	}
	for y := range s.rows {
		if line := at(lines, y); line != at(s.lines, y) {
			s.styles.read(line, s.next)
			s.drawRow(y)
			s.rows[y], s.next = s.next, s.rows[y]
		}
	}
	s.lines = lines
}

// drawRow draws the cells that differ. The two halves of a wide glyph differ together.
func (s *screen) drawRow(y int) {
	for x, c := range s.next {
		if c != s.rows[y][x] && c.glyph != continuation {
			s.moveTo(x, y)
			s.put(c)
		}
	}
}

func (s *screen) moveTo(x, y int) {
	switch {
	case s.x == x && s.y == y:
		return
	case s.y == y && s.x >= 0 && s.x < x:
		s.out = append(s.out, ansi.CursorForward(x-s.x)...)
	default:
		s.out = append(s.out, ansi.CursorPosition(x+1, y+1)...)
	}
	s.x, s.y = x, y
}

func (s *screen) put(c cell) {
	if c.glyph != ' ' || s.styles.onBlanks(c.style) || s.styles.onBlanks(s.current) {
		s.turn(c.style)
	}
	s.out = utf8.AppendRune(s.out, c.glyph)
	s.x++
	// The place of the cursor is unknown after a glyph about whose width terminals may disagree, and at the end of
	// a line, where the cursor waits before it wraps.
	switch {
	case !text.OneCell(c.glyph):
		s.x, s.y = -1, -1
	case s.x >= s.width:
		s.x = -1
	}
}

func (s *screen) turn(style styleID) {
	if style != s.current {
		s.out = append(s.out, s.styles.turn(s.current, style)...)
		s.current = style
	}
}
