package dialog

import (
	"strings"

	"charm.land/lipgloss/v2"

	"vramscope/internal/text"
	"vramscope/ui/cell"
)

// box is a frame around lines. The upper edge has the title and, at its end, right.
type box struct {
	look         *cell.Appearance
	title, right string
	lines        [][]cell.Span
	skip         int  // lines scrolled out of sight
	snug         bool // as large as its lines, at most dialogWidth wide, and centred; else it fills the rectangle
}

// Render returns exactly height lines of exactly width cells, without a frame if a frame would leave no line.
func (b box) Render(width, height int) []string {
	if width < 4 {
		return cell.Blank(max(width, 0), height)
	}
	if height < 3 {
		return b.inside(width, max(height, 0))
	}
	wide, rows := width, height-2
	if b.snug {
		wide, rows = min(width, dialogWidth), min(rows, max(len(b.lines), 1))
	}
	g, lines := &b.look.Glyphs, b.inside(wide-2, rows)
	border := lipgloss.Border{Left: g.Side, Right: g.Side, Bottom: g.Rule, BottomLeft: g.Corners[2], BottomRight: g.Corners[3]}
	framed := lipgloss.NewStyle().Border(border, false, true, true).
		BorderForeground(b.look.Styles.Rule.Lipgloss().GetForeground()).Render(strings.Join(lines, "\n"))
	placed := lipgloss.Place(width, height, lipgloss.Center, lipgloss.Top, b.top(wide)+"\n"+framed)
	return strings.Split(placed, "\n")
}

func (b box) inside(width, rows int) []string {
	skip := min(max(b.skip, 0), max(len(b.lines)-rows, 0))
	lines := make([]string, rows)
	for i := range lines {
		l := cell.NewLine(width)
		l.Skip(1)
		if skip+i < len(b.lines) {
			l.PutSpans(b.lines[skip+i], width, b.look.Glyphs.Ellipsis)
		}
		lines[i] = l.String()
	}
	return lines
}

// top returns "┌ title ───── right ┐". In a narrow box it drops the clauses of right one by one.
func (b box) top(width int) string {
	s, g, title, right := &b.look.Styles, &b.look.Glyphs, b.title, b.right
	for !titleFits(title, right, width) {
		i := strings.Index(right, ", ")
		if i < 0 {
			break
		}
		right = right[i+len(", "):]
	}
	room := width - 4
	if right != "" && !titleFits(title, right, width) {
		const minTitle = 12
		if room -= text.Width(right) + 3; room < minTitle {
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

// titleFits reports whether title and right fit into the edge of a box, with some rule between them.
func titleFits(title, right string, width int) bool {
	return right == "" || 3+text.Width(title)+1+text.Width(right)+3 <= width
}
