package ui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/quantity"
	"vramscope/sampler/history"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/terminal"
)

// The budget of a frame at 200×50 is 0.25 ms and 400 allocations. Frames read a history as the sampler keeps it, because
// reading is a large part of their cost.

func BenchmarkView80x24(b *testing.B)  { benchmarkFrame(b, 80, 24) }
func BenchmarkView200x50(b *testing.B) { benchmarkFrame(b, 200, 50) }
func BenchmarkView200x60(b *testing.B) { benchmarkFrame(b, 200, 60) }
func BenchmarkView300x80(b *testing.B) { benchmarkFrame(b, 300, 80) }

// crowded returns a screen of a box with a history of a quarter of an hour. The memory of each process is a sawtooth of
// two minutes.
func crowded(gpus, processes, width, height int) *state {
	s := snapshottest.Crowded(gpus, processes)
	st := screenOf(s, width, height)
	then, kept := *s, history.New()
	then.GPUs, then.Rows = slices.Clone(s.GPUs), slices.Clone(s.Rows)
	every := time.Second * time.Duration(max(1, gpus*processes/1000))
	for age := 15 * time.Minute; age >= 0; age -= every {
		share := 1 - .2*float64(age%(2*time.Minute))/float64(2*time.Minute)
		of := func(now snapshot.Bytes) snapshot.Bytes {
			return quantity.From(quantity.Bytes(share*float64(now.Or(0)))&^511, now.Source())
		}
		then.Time, then.Sequence = s.Time.Add(-age), then.Sequence+1
		for i := range s.Rows {
			p, now := &then.Rows[i], &s.Rows[i]
			p.Used, p.Allocated, p.Cached = of(now.Used), of(now.Allocated), of(now.Cached)
			p.Fragmented, p.Returnable = of(now.Fragmented), of(now.Returnable)
		}
		for i := range s.GPUs {
			then.GPUs[i].Memory.Used = of(s.GPUs[i].Memory.Used)
		}
		kept.Record(then.Time, &then)
	}
	st.history = kept
	return st
}

func benchmarkFrame(b *testing.B, width, height int) {
	st := crowded(8, 8, width, height)
	for i := range st.shown.Rows {
		st.shown.Rows[i].Demand = snapshot.Demand{Known: true, Seen: time.Minute} // the sampler fills it in
	}
	lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	b.ReportAllocs()
	for b.Loop() {
		if lines := frame(st, lk); len(lines) != height {
			b.Fatal(len(lines))
		}
	}
}

// BenchmarkViewCrowded measures 1,024 and 10,000 processes: the cost of sorting.
func BenchmarkViewCrowded(b *testing.B) {
	for _, processes := range []int{64, 625} {
		b.Run(fmt.Sprintf("16x%d", processes), func(b *testing.B) {
			st := crowded(16, processes, 200, 60)
			lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
			b.ReportAllocs()
			for b.Loop() {
				frame(st, lk)
			}
		})
	}
}

func BenchmarkTable200x50(b *testing.B) {
	st := crowded(8, 8, 200, 50)
	lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	t := st.table(lk)
	b.ReportAllocs()
	for b.Loop() {
		t.Render(200, 19)
	}
}

func BenchmarkGPUPanel200x50(b *testing.B) {
	st := crowded(8, 8, 200, 50)
	lk := lookOf(b, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	lay := arrange(200, 50, st.box())
	b.ReportAllocs()
	for b.Loop() {
		st.gpus(lk, lay).Render(200, lay.gpus.rows)
	}
}

// A tick is measured from the message to the drawn frame.
func BenchmarkTick80x24(b *testing.B)  { benchmarkTick(b, 80, 24) }
func BenchmarkTick200x60(b *testing.B) { benchmarkTick(b, 200, 60) }

func benchmarkTick(b *testing.B, width, height int) {
	now := noon()
	kept := history.New()
	options := Options{Source: newFakeSource(nil), History: kept, Now: func() time.Time { return now }}.withDefaults()
	m, err := newModel(options, terminal.NewHold(terminal.Traits{Profile: colorprofile.TrueColor}))
	if err != nil {
		b.Fatal(err)
	}
	var box []*snapshot.Snapshot
	for second := range 15 * 60 {
		s := smallBox(8, 8, second)
		kept.Record(s.Time, s)
		box = append(box, s)
	}
	box = box[14*60:]
	m.begin(width, height, box[0])
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = box[i%len(box)].Time
		m.Update(snapshotMsg{box[i%len(box)]})
		if len(m.Frame().Lines) == 0 {
			b.Fatal("no frame")
		}
	}
}

// BenchmarkIdleMessage measures a message that changes nothing on the screen.
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

// endOfNothing is a message that the model does not know.
type endOfNothing struct{}
