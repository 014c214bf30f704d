package dialog

import (
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// page is what Help, Environment, Report and Why share: lines in a frame that scroll.
type page struct {
	look   *cell.Appearance
	opener string // the key that opened it, which also closes it
	top    scroll
}

// press takes a key while rows of total lines are in view.
func (p page) press(name string, total, rows int) (page, Outcome) {
	id := p.look.Keys.Match(name, keys.InOverlay, false)
	if id == keys.Back || name == p.opener || name == "q" || name == "enter" {
		return p, Closed
	}
	top, moved := p.top.moved(id, total, rows)
	p.top = top
	if moved {
		return p, Handled
	}
	return p, Ignored
}

func (p page) box(title string, lines [][]cell.Span, height int) box {
	b := box{look: p.look, title: title, right: "Esc closes", lines: lines, skip: int(p.top)}
	if len(lines) > height-2 {
		b.right = "j k scroll, Esc closes"
	}
	return b
}

// scroll is the first line in view, or the line of a cursor.
type scroll int

// moved returns the position after a key that scrolls; false for any other key.
func (s scroll) moved(id keys.ID, total, rows int) (scroll, bool) {
	switch id {
	case keys.Up:
		s--
	case keys.Down:
		s++
	case keys.PageUp:
		s -= scroll(max(rows-1, 1))
	case keys.PageDown:
		s += scroll(max(rows-1, 1))
	case keys.Home:
		s = 0
	case keys.End:
		s = scroll(total)
	default:
		return s, false
	}
	return min(max(s, 0), scroll(max(total-rows, 0))), true
}
