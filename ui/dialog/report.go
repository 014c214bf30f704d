package dialog

import (
	"strings"

	"vramscope/internal/text"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// Report shows the report of vramscope doctor on a box without a driver.
type Report struct {
	page
	lines []string // as doctor writes them, with their indentation
	read  bool     // the report has come
}

// NewReport waits for the report, which Fill adds.
func NewReport(lk *cell.Appearance) Report { return Report{page: page{look: lk, opener: "d"}} }

// Fill returns the panel with the report.
func (r Report) Fill(lines []string) Report {
	r.lines, r.read = lines, true
	return r
}

// Size implements Overlay: all lines, so that the frame stays when the report comes.
func (r Report) Size(int) int { return allLines }

func (r Report) Press(name string, width, height int) (Overlay, Outcome) {
	var out Outcome
	r.page, out = r.press(name, len(r.content(width)), height-2)
	return r, out
}

func (r Report) Render(width, height int) []string {
	return r.box("Doctor", r.content(width), height).Render(width, height)
}

// content returns the lines in the frame. A long line continues in the next one, further indented.
func (r Report) content(width int) [][]cell.Span {
	s, g := &r.look.Styles, &r.look.Glyphs
	if !r.read {
		return [][]cell.Span{{{s.Dim, "examining this box"}}}
	}
	const maxLines, further = 4, 4
	var lines [][]cell.Span
	for _, words := range r.lines {
		words = text.Clean(words)
		line := strings.TrimLeft(words, " ")
		indent := len(words) - len(line)
		if line == "" {
			lines = append(lines, nil)
			continue
		}
		style := r.style(line, indent)
		for i, part := range cell.Wrap(line, max(width-3-indent-further, 1), maxLines, g.Ellipsis) {
			if i == 1 {
				indent += further
			}
			lines = append(lines, []cell.Span{{style, strings.Repeat(" ", indent) + part}})
		}
	}
	return lines
}

// style returns the style of a line: a title, a problem, or text.
func (r Report) style(text string, indent int) themes.Style {
	switch {
	case indent == 0:
		return r.look.Styles.Title
	case strings.HasPrefix(text, "no "):
		return r.look.Styles.Warning
	default:
		return r.look.Styles.Text
	}
}
