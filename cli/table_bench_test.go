package cli

import (
	"fmt"
	"io"
	"testing"

	"vramscope/sampler/snapshot/snapshottest"
)

// BenchmarkTable is the table of 16 GPUs with 10,000 rows, into a pipe and in terminals.
func BenchmarkTable(b *testing.B) {
	snap := snapshottest.Crowded(16, 625)
	for _, width := range []int{0, 80, 200} {
		b.Run(fmt.Sprintf("width=%d", width), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := writeTable(io.Discard, snap, width, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJSON is the document of the same box.
func BenchmarkJSON(b *testing.B) {
	snap := snapshottest.Crowded(16, 625)
	b.ReportAllocs()
	for b.Loop() {
		if err := writeJSON(io.Discard, snap); err != nil {
			b.Fatal(err)
		}
	}
}
