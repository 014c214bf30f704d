package cli

import (
	"fmt"
	"testing"
)

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
