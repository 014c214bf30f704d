package ui

import (
	"fmt"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// The budget of a frame at 200×50 is 0.3 ms and 400 allocations.

func BenchmarkView80x24(b *testing.B)  { benchmarkFrame(b, 80, 24) }
func BenchmarkView200x50(b *testing.B) { benchmarkFrame(b, 200, 50) }
func BenchmarkView200x60(b *testing.B) { benchmarkFrame(b, 200, 60) }

func benchmarkFrame(b *testing.B, width, height int) {
	st := screenOf(snapshottest.Crowded(8, 8), width, height)
	lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	b.ReportAllocs()
	for b.Loop() {
		if lines := frame(st, lk); len(lines) != height {
			b.Fatal(len(lines))
		}
	}
}

// BenchmarkViewCrowded is 1,024 and 10,000 processes: the cost of sorting.
func BenchmarkViewCrowded(b *testing.B) {
	for _, processes := range []int{64, 625} {
		b.Run(fmt.Sprintf("16x%d", processes), func(b *testing.B) {
			st := screenOf(snapshottest.Crowded(16, processes), 200, 60)
			lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
			b.ReportAllocs()
			for b.Loop() {
				frame(st, lk)
			}
		})
	}
}

func BenchmarkTable200x50(b *testing.B) {
	st := screenOf(snapshottest.Crowded(8, 8), 200, 50)
	lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	t := st.table(lk)
	b.ReportAllocs()
	for b.Loop() {
		t.Render(200, 19)
	}
}

func BenchmarkGPUPanel200x50(b *testing.B) {
	st := screenOf(snapshottest.Crowded(8, 8), 200, 50)
	lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	lay := arrange(200, 50, st.box())
	b.ReportAllocs()
	for b.Loop() {
		st.gpus(lk, &lay).Render(200, lay.gpus.rows)
	}
}
