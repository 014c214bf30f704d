package render

import (
	"fmt"
	"testing"

	"vramscope/fleet"
	"vramscope/sampler/snapshot/snapshottest"
)

// BenchmarkTable measures the table of 16 GPUs with 10,000 rows, into a pipe and in terminals.
func BenchmarkTable(b *testing.B) {
	snap := snapshottest.Crowded(16, 625)
	for _, width := range []int{0, 80, 200} {
		b.Run(fmt.Sprintf("width=%d", width), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Table(snap, width, false)
			}
		})
	}
}

// BenchmarkJSON measures the document of the same box.
func BenchmarkJSON(b *testing.B) {
	snap := snapshottest.Crowded(16, 625)
	b.ReportAllocs()
	for b.Loop() {
		asJSON(b, snap)
	}
}

// BenchmarkFleetTable measures the table of a fleet of 10,000 GPUs.
func BenchmarkFleetTable(b *testing.B) {
	var pic fleet.Picture
	gpus := snapshottest.Crowded(16, 0).GPUs
	for i := range 10_000 {
		pic.Lines = append(pic.Lines, fleet.Line{Box: fmt.Sprintf("box-%d", i/16), GPU: gpus[i%16], User: "alice", Program: "train.py"})
	}
	b.ReportAllocs()
	for b.Loop() {
		FleetTable(&pic, &fleet.Totals{}, nil, SignsFor(false), 200)
	}
}
