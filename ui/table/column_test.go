package table

import (
	"strings"
	"testing"
)

// TestColumnsGrowWithTheWidth: a wider screen never loses a column, some columns are always there, and the cells add up.
func TestColumnsGrowWithTheWidth(t *testing.T) {
	for _, b := range []box{
		{}, {parts: true}, {ahead: true}, {parts: true, ahead: true}, {parts: true, ahead: true, ascii: true, wideGPU: true},
	} {
		var before map[columnID]bool
		for width := 30; width <= 300; width++ {
			now, cells := map[columnID]bool{}, 0
			for _, c := range columnsAt(width, b) {
				now[c.id] = true
				cells += 1 + c.cells
			}
			if cells != width {
				t.Errorf("%+v: columns at %d have %d cells", b, width, cells)
			}
			for id := range before {
				if !now[id] {
					t.Errorf("%+v: column %q is there at %d and not at %d", b, allColumns[id].title, width-1, width)
				}
			}
			for _, id := range []columnID{columnGPU, columnPID, columnUsed, columnCommand} {
				if !now[id] {
					t.Errorf("%+v: no column %q at %d", b, allColumns[id].title, width)
				}
			}
			for id := range now {
				c := allColumns[id]
				if c.parts && !b.parts || (id == columnPredicted || id == columnTrend) && !b.ahead || id == columnSpark && b.ascii {
					t.Errorf("%+v: column %q at %d has nothing to show", b, c.title, width)
				}
			}
			before = now
		}
	}
}

// TestColumnsOfTheDrawings checks the widths of the drawings.
func TestColumnsOfTheDrawings(t *testing.T) {
	for _, c := range []struct {
		width int
		parts bool
		want  string
	}{
		{30, true, "GPU PID USED COMMAND"},
		{60, true, "GPU PID USER USED ALLOC FRAG CACHE COMMAND"},
		{80, true, "GPU PID USER USED ALLOC FRAG CACHE +60s COMMAND"},
		{80, false, "GPU PID USER SM% USED +60s TIME COMMAND"},
		{120, true, "GPU PID USER RUNTIME SM% USED ALLOC FRAG CACHE +60s TIME COMMAND"},
		{200, true, "GPU PID USER RUNTIME SM% USED ALLOC FRAG CACHE +60s LAST 10m CPU% HOST TIME JOB COMMAND"},
	} {
		var titles []string
		for _, column := range columnsAt(c.width, box{parts: c.parts, ahead: true}) {
			if column.title != "" {
				titles = append(titles, column.title)
			}
		}
		if got := strings.Join(titles, " "); got != c.want {
			t.Errorf("%d cells: %s\nwant %s", c.width, got, c.want)
		}
	}
}

func TestColumnNamed(t *testing.T) {
	for id := range columnCount {
		if c := allColumns[id]; c.title != "" && columnNamed(c.title) != id {
			t.Errorf("title %q names column %d, not %d", c.title, columnNamed(c.title), id)
		}
	}
}
