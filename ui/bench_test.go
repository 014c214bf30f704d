package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/terminal"
)

// The budget of a frame at 200×50 is 0.3 ms and 400 allocations.

func BenchmarkView80x24(b *testing.B)  { benchmarkFrame(b, 80, 24) }
func BenchmarkView200x50(b *testing.B) { benchmarkFrame(b, 200, 50) }
func BenchmarkView200x60(b *testing.B) { benchmarkFrame(b, 200, 60) }
func BenchmarkView300x80(b *testing.B) { benchmarkFrame(b, 300, 80) }

func benchmarkFrame(b *testing.B, width, height int) {
	st := screenOf(snapshottest.Crowded(8, 8), width, height)
	for i := range st.shown.Rows {
		st.shown.Rows[i].Demand = snapshot.Demand{Known: true, Seen: time.Minute} // as the sampler has it
	}
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

// What a tick costs from the message to what Bubble Tea is handed.
func BenchmarkTick80x24(b *testing.B)  { benchmarkTick(b, 80, 24) }
func BenchmarkTick200x60(b *testing.B) { benchmarkTick(b, 200, 60) }

func benchmarkTick(b *testing.B, width, height int) {
	now := noon()
	options := Options{Source: newFakeSource(nil), Now: func() time.Time { return now }}.withDefaults()
	m, err := newModel(options, terminal.NewHold(terminal.Traits{Profile: colorprofile.TrueColor}))
	if err != nil {
		b.Fatal(err)
	}
	var box []*snapshot.Snapshot
	for second := range 60 {
		box = append(box, smallBox(8, 8, second))
	}
	m.begin(width, height, box[0])
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Update(snapshotMsg{box[i%len(box)]})
		if len(m.Frame().Lines) == 0 {
			b.Fatal("no frame")
		}
	}
}

// What a message costs that changes nothing on the screen.
func BenchmarkIdleMessage(b *testing.B) {
	m, err := newModel(Options{Source: newFakeSource(nil)}.withDefaults(), terminal.NewHold(terminal.Traits{Profile: colorprofile.TrueColor}))
	if err != nil {
		b.Fatal(err)
	}
	m.begin(200, 60, smallBox(8, 8, 0))
	b.ReportAllocs()
	for b.Loop() {
		m.Update(endOfNothing{})
		if len(m.Frame().Lines) == 0 {
			b.Fatal("no frame")
		}
	}
}

// endOfNothing is a message that no part of the program knows.
type endOfNothing struct{}
