package render

import (
	"fmt"
	"strings"
	"testing"

	"vramscope/internal/text"
)

// TestStartIsWhereTheLastColumnBegins for titles, cells and least widths that are the widest of a column.
func TestStartIsWhereTheLastColumnBegins(t *testing.T) {
	g := grid{columns: []column{{"GPU", true, 3}, {"USER", false, 8}, {"FLUSH", true, 5}, {"COMMAND", false, 0}}}
	for _, row := range [][]string{nil, {"0", "a", "–", "one"}, {"0:12", "administrator", "12.3G", "two"}, {"1", "用户用户用户用户用户", "1G", "three"}} {
		if row != nil {
			g.rows = append(g.rows, row)
		}
		line := g.lines()[0]
		if got, want := g.start(), text.Width(line[:strings.LastIndex(line, "COMMAND")]); got != want {
			t.Errorf("after %v: %d, want %d: %q", row, got, want, line)
		}
	}
}

// BenchmarkGrid lays out the rows of 8 GPUs with 8 processes each.
func BenchmarkGrid(b *testing.B) {
	g := grid{}
	for i := range 12 {
		g.columns = append(g.columns, column{title: fmt.Sprint("COLUMN", i), right: i%2 == 0})
	}
	for range 64 {
		row := make([]string, 12)
		for i := range row {
			row[i] = "12.3G"
		}
		row[11] = "train.py --cfg llama-7b.yaml --batch 64"
		g.rows = append(g.rows, row)
	}
	for b.Loop() {
		g.lines()
	}
}
