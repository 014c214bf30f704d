package cli

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	lgtable "charm.land/lipgloss/v2/table"

	"vramscope/internal/text"
)

// column is one column of a block of text output.
type column struct {
	title string
	right bool // figures
	least int  // cells that it takes even where nothing in it is that wide
}

// grid is a block of columns, two blanks apart, under one line of titles.
// There are no blanks inside a cell but in the last column, so that awk can
// count columns.
type grid struct {
	columns []column
	rows    [][]string
}

// drop takes columns out, by their titles.
func (g *grid) drop(titles ...string) {
	for _, title := range titles {
		i := slices.IndexFunc(g.columns, func(c column) bool { return c.title == title })
		if i < 0 {
			continue
		}
		g.columns = slices.Delete(g.columns, i, i+1)
		for j := range g.rows {
			g.rows[j] = slices.Delete(g.rows[j], i, i+1)
		}
	}
}

// start is the cell in which the last column begins.
func (g *grid) start() int {
	return strings.LastIndex(g.lines()[0], g.columns[len(g.columns)-1].title)
}

// lines are the titles and the rows.
func (g *grid) lines() []string {
	titles, styles := make([]string, len(g.columns)), make([]lipgloss.Style, len(g.columns))
	for i, c := range g.columns {
		titles[i] = fmt.Sprintf("%-*s", c.least, c.title)
		if c.right {
			titles[i] = fmt.Sprintf("%*s", c.least, c.title)
			styles[i] = styles[i].Align(lipgloss.Right)
		}
		if i < len(g.columns)-1 {
			styles[i] = styles[i].PaddingRight(2)
		}
	}
	rows := lgtable.New().Headers(titles...).Rows(g.rows...).Wrap(false).BorderHeader(false).BorderColumn(false).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		StyleFunc(func(_, i int) lipgloss.Style { return styles[i] })
	lines := strings.Split(rows.Render(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// cutLines joins lines, each cut to so many cells.
func cutLines(lines []string, width int, ellipsis string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(cutLine(line, width, ellipsis), " ") + "\n")
	}
	return b.String()
}

// cutLine cuts a line to so many cells; 0 leaves it whole.
func cutLine(line string, width int, ellipsis string) string {
	if width > 0 && text.Width(line) > width {
		return text.Cut(line, width, ellipsis)
	}
	return line
}
