package render

import (
	"fmt"
	"strconv"

	"vramscope/internal/text"
	"vramscope/memoryviz"
)

// shownLines limits the lines of a program that text shows. JSON has all of them.
const shownLines = 20

// Lines returns the lines of a program that allocated memory, those with the most live memory first.
//
//	recorded 31.2 s, 20 steps; 12.1G allocated; CHURN: allocated in the last 31.2 s
//	BYTES  BLOCKS  CHURN  ALLOCS  LINE
//	 4.0G      20  80.0G    4000  train.py:41 step
func Lines(doc *memoryviz.Document, signs Signs) string {
	l := &doc.Lines
	g := grid{columns: []column{{"BYTES", true, 5}, {"BLOCKS", true, 0}, {"CHURN", true, 5}, {"ALLOCS", true, 0}, {"LINE", false, 0}}}
	for _, line := range l.Lines[:min(len(l.Lines), shownLines)] {
		g.rows = append(g.rows, []string{line.Bytes.String(), strconv.FormatInt(line.Blocks, 10), line.Churn.String(), strconv.FormatInt(line.Allocations, 10), text.Clean(line.At.String())})
	}
	first := fmt.Sprintf("recorded %.1f s, %d steps; %s allocated; CHURN: allocated in the last %.1f s", l.Seconds, l.Steps, l.Allocated, l.History)
	lines := append([]string{first}, withRest(&g, len(l.Lines))...)
	return cutLines(marked(lines, "note  ", l.Notes, signs), 0, "")
}

// Growth returns the lines of a program that have more live memory than before.
func Growth(doc *memoryviz.GrowthDocument) string {
	g := grid{columns: []column{{"GREW", true, 5}, {"BLOCKS", true, 0}, {"BEFORE", true, 5}, {"AFTER", true, 5}, {"LINE", false, 0}}}
	for _, line := range doc.Lines[:min(len(doc.Lines), shownLines)] {
		where := line.At.String()
		if each, ok := line.Each.Value(); ok {
			where = fmt.Sprintf("blocks of %s %s", each, where)
		}
		g.rows = append(g.rows, []string{line.Grown.String(), fmt.Sprintf("%+d", line.Blocks), line.Before.String(), line.After.String(), text.Clean(where)})
	}
	return cutLines(append([]string{fmt.Sprintf("grew by %s in all", doc.Grown)}, withRest(&g, len(doc.Lines))...), 0, "")
}

// withRest returns the lines of a table, and a line with the number of rows left out.
func withRest(g *grid, all int) []string {
	if all > shownLines {
		return append(g.lines(), fmt.Sprintf("and %d lines more: --format json", all-shownLines))
	} else if all > 0 {
		return g.lines()
	}
	return nil
}
