package render

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"vramscope/internal/text"
	"vramscope/ui/cell"
)

// column is one column of a block of text output.
type column struct {
	title string
	right bool // aligned to the right
	least int  // the least width, in cells
}

// grid is a block of columns, two blanks apart, under one line of titles.
type grid struct {
	columns []column
	rows    [][]string
}

// place returns the index of a column by its title, -1 if there is none.
func (g *grid) place(title string) int {
	return slices.IndexFunc(g.columns, func(c column) bool { return c.title == title })
}

// drop removes columns by their titles.
func (g *grid) drop(titles ...string) {
	for _, title := range titles {
		if i := g.place(title); i >= 0 {
			g.columns = slices.Delete(g.columns, i, i+1)
			for row := range g.rows {
				g.rows[row] = slices.Delete(g.rows[row], i, i+1)
			}
		}
	}
}

// start returns the cell in which the last column begins.
func (g *grid) start() int {
	last := len(g.columns) - 1
	cells := len(gap) * last
	for i, c := range g.columns[:last] {
		widest := max(c.least, text.Width(c.title))
		for _, row := range g.rows {
			widest = max(widest, text.Width(row[i]))
		}
		cells += widest
	}
	return cells
}

const gap = "  "

func (g *grid) lines() []string {
	columns := make([]string, len(g.columns))
	for i, c := range g.columns {
		side, title, gap := lipgloss.Left, fmt.Sprintf("%-*s", c.least, c.title), gap
		if c.right {
			side, title = lipgloss.Right, fmt.Sprintf("%*s", c.least, c.title)
		}
		if i == len(g.columns)-1 {
			gap = ""
		}
		cells := []string{title + gap}
		for _, row := range g.rows {
			cells = append(cells, row[i]+gap)
		}
		columns[i] = lipgloss.JoinVertical(side, cells...)
	}
	lines := strings.Split(lipgloss.JoinHorizontal(lipgloss.Top, columns...), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// simulated returns the mark of a simulated box, nothing for a real one.
func simulated(is bool) []string {
	if is {
		return []string{"SIMULATED"}
	}
	return nil
}

// marked adds a line for each text, with a mark before it.
func marked[T ~string](lines []string, mark string, texts []T, signs Signs) []string {
	for _, s := range texts {
		lines = append(lines, mark+signs.Words(string(s)))
	}
	return lines
}

// cutLines joins lines, each cut to width cells; 0 leaves them whole.
func cutLines(lines []string, width int, ellipsis string) string {
	var b strings.Builder
	for _, line := range lines {
		if width > 0 && text.Width(line) > width {
			line = text.Cut(line, width, ellipsis)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// oneWord returns clean text without blanks: one column for awk.
func oneWord(s string) string { return strings.ReplaceAll(text.Clean(s), " ", "_") }

// Signs are the signs of text output that have a form in ASCII.
type Signs = cell.Glyphs

// SignsFor returns the signs, as ASCII or not.
func SignsFor(ascii bool) Signs { return cell.GlyphsFor(ascii) }
