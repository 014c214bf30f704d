package dialog

import (
	"strings"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Overlay is a panel that lies over the screen and has the keys: help, events,
// environment, a dialog. Like every panel it is a value; press and refreshed
// give the value that takes its place.
type Overlay interface {
	// Render returns exactly height lines of exactly width cells.
	Render(width, height int) []string
	// press takes a key (tea.KeyPressMsg.String) while the overlay fills so
	// many lines of so many cells.
	Press(name string, width, height int) (Overlay, Outcome)
	// refreshed takes what the screen shows now: the box goes on living behind it.
	Follow(now *Scene) Overlay
	// wants is what it covers and how many lines it would fill at this width;
	// it is drawn with fewer where there are no more.
	Size(width int) (extent, int)
}

// Scene is what an overlay sees of the screen it lies over.
type Scene struct {
	Live    *snapshot.Snapshot // the newest; nil until the first arrives
	Shown   *snapshot.Snapshot // what the screen shows: now, frozen, or of the past
	History snapshot.History   // nil while there is none
	Now     time.Time
	Past    time.Time // not zero: the moment that the screen shows
}

// Outcome is what came of a key.
type Outcome uint8

// The outcomes.
const (
	Ignored   Outcome = iota // the key means nothing to the overlay; the program may use it
	Handled                  // the overlay has changed, or swallowed the key
	Closed                   // it is to be taken away; nothing was done
	Confirmed                // a dialog's y: do it, and take the dialog away
	Rehearsed                // a dialog's d: find out what would happen, and leave it open
)

// extent is what an overlay lies over.
type extent uint8

// The extents: a dialog leaves GPU lines, alert and keys in sight; help needs
// all there is below the header.
const (
	OverTable extent = iota
	BelowHeader
)

// allLines is what an overlay wants that takes as many lines as there are.
const allLines = 1 << 16

// minDialogLines is the least a dialog can be read in: the frame, whom it is
// about, and the keys. With less room it closes as no.
const LeastLines = 6

// Overlaid lays an overlay over the lines of the rectangle that it covers:
// centred, the lines above and below it stay.
func Overlaid(lines []string, o Overlay, width int) []string {
	_, natural := o.Size(width)
	height := min(natural, len(lines))
	if height <= 0 {
		return lines
	}
	top := (len(lines) - height) / 2
	out := make([]string, 0, len(lines))
	out = append(out, lines[:top]...)
	out = append(out, o.Render(width, height)...)
	return append(out, lines[top+height:]...)
}

// boxed draws a frame around lines of spans, exactly width × height. Title and
// right stand in the upper edge. Lines that are too many are left out from
// the first on by skip, and at the end.
func boxed(lk *cell.Appearance, title, right string, inner [][]cell.Span, skip, width, height int) []string {
	if width < 4 || height < 2 {
		return cell.Blank(max(width, 0), height)
	}
	s, g := &lk.Styles, &lk.Glyphs
	out := make([]string, 0, height)
	out = append(out, boxTop(lk, title, right, width))
	skip = min(max(skip, 0), max(len(inner)-(height-2), 0))
	for i := range height - 2 {
		l := cell.NewLine(width)
		l.Put(s.Rule, g.Side)
		l.Put(s.Text, " ")
		if skip+i < len(inner) {
			l.PutSpans(inner[skip+i], width-1, g.Ellipsis)
		}
		l.Skip(width - 1 - l.Used())
		l.Put(s.Rule, g.Side)
		out = append(out, l.String())
	}
	l := cell.NewLine(width)
	l.Put(s.Rule, g.Corners[2]+strings.Repeat(g.Rule, width-2)+g.Corners[3])
	return append(out, l.String())
}

// boxTop is "┌ title ───── right ┐". What stands at the right says how to get
// on and out: in a narrow box its clauses go one by one, and the title is cut
// for the last of them.
func boxTop(lk *cell.Appearance, title, right string, width int) string {
	s, g := &lk.Styles, &lk.Glyphs
	for !titleFits(title, right, width) {
		i := strings.Index(right, ", ")
		if i < 0 {
			break
		}
		right = right[i+len(", "):]
	}
	room := width - 4
	if right != "" && !titleFits(title, right, width) {
		const titleLeast = 12
		if room -= text.Width(right) + 3; room < titleLeast {
			right, room = "", width-4
		}
	}
	l := cell.NewLine(width)
	l.Put(s.Rule, g.Corners[0])
	l.Put(s.Text, " ")
	l.Put(s.Title, text.Cut(title, room, g.Ellipsis))
	l.Put(s.Text, " ")
	tail := 1
	if right != "" {
		tail += text.Width(right) + 2
	}
	l.Put(s.Rule, strings.Repeat(g.Rule, max(width-l.Used()-tail, 0)))
	if right != "" {
		l.Put(s.Dim, " "+right+" ")
	}
	l.Put(s.Rule, g.Corners[1])
	return l.String()
}

// titleFits reports whether both stand in the edge of a box, with a piece of
// it between them.
func titleFits(title, right string, width int) bool {
	return right == "" || 3+text.Width(title)+1+text.Width(right)+3 <= width
}

// scroll is where a list stands: the first line in view.
type scroll int

// moved is the scroll after a key that moves, clamped so that the last line
// stays in view; false for any other key.
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
