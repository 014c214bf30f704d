package ui

import (
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"vramscope/sampler/snapshot"
	"vramscope/ui/terminal"
)

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
