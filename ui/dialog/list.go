package dialog

import (
	"strings"

	"vramscope/internal/text"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Menu is an overlay in which the user chooses a line. Unlike a Question it acts on no process.
type Menu interface {
	Overlay
	// MenuHints are the hints for the bottom line.
	MenuHints() []keys.Hint
}

// list is the cursor of a menu, and the first line in view.
type list struct {
	look *cell.Appearance
	at   int
	top  int
}

// moved handles a key that moves the cursor among total lines, of which rows are in view.
func (l list) moved(name string, total, rows int) (list, bool) {
	at, moved := scroll(l.at).moved(l.look.Keys.Match(name, keys.InOverlay, false), total, 1)
	if moved {
		l.at = int(at)
	}
	return l.inView(total, rows), moved
}

func (l list) inView(total, rows int) list {
	rows = max(rows, 1)
	l.at = min(max(l.at, 0), max(total-1, 0))
	l.top = min(max(min(l.top, l.at), l.at-rows+1), max(total-rows, 0))
	return l
}

// marked returns the lines, with the cursor's line reversed over the whole width.
func (l list) marked(lines [][]cell.Span, width int) [][]cell.Span {
	if l.at < len(lines) {
		line := marked(l.look.Styles.Cursor, lines[l.at])
		line[0].Text = text.Pad(text.Cut(line[0].Text, width, ""), width)
		lines[l.at] = line
	}
	return lines
}

// marked returns a line in one style.
func marked(style themes.Style, line []cell.Span) []cell.Span {
	var words strings.Builder
	for _, span := range line {
		words.WriteString(span.Text)
	}
	return []cell.Span{{style, words.String()}}
}
