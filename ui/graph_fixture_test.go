package ui

import (
	"math"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// drawnAt is the moment of the drawings.
var drawnAt = time.Date(2026, 11, 20, 12, 4, 17, 0, time.UTC)

// curveHistory is a history of one curve, sampled once a second from a moment
// on; NaN is a missing sample.
type curveHistory struct {
	curve func(age time.Duration) float64 // GiB, by the time before now
	now   time.Time
	every time.Duration
	since time.Duration // how long it has been measured
	log   []snapshot.Event
}

func (h curveHistory) At(time.Time) (*snapshot.Snapshot, bool) { return nil, false }

func (h curveHistory) Span() (oldest, newest time.Time) { return h.now.Add(-h.since), h.now }

func (h curveHistory) Events(limit int) []snapshot.Event {
	if limit > 0 && limit < len(h.log) {
		return h.log[:limit]
	}
	return h.log
}

func (h curveHistory) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, buckets)
	width := to.Sub(from) / time.Duration(buckets)
	for i := range points {
		points[i].Time = from.Add(time.Duration(i+1) * width)
	}
	for age := h.since - h.since%h.every; age >= 0; age -= h.every {
		at := h.now.Add(-age)
		i := int(at.Sub(from)-1) / int(width)
		value := h.curve(age)
		if at.Before(from) || at.After(to) || i < 0 || i >= buckets || math.IsNaN(value) {
			continue
		}
		amount := int64(value * float64(quantity.GiB))
		p := &points[i]
		if !p.Known || amount > p.Max {
			p.Max = amount
		}
		if !p.Known || amount < p.Min {
			p.Min = amount
		}
		p.Last, p.Known = amount, true
	}
	return points
}

// leak is carol's: 25 MiB a second, in steps, up to 72.9 GiB now.
func leak(age time.Duration) float64 {
	grown := 25.0 / 1024 * age.Seconds()
	return 72.9 - math.Floor(grown/1.5)*1.5
}

func known(amount float64) snapshot.Bytes {
	return quantity.From(quantity.Bytes(amount*float64(quantity.GiB)), quantity.Driver)
}

func predictions(from, perSecond, spread float64) []snapshot.Prediction {
	var list []snapshot.Prediction
	for _, seconds := range []float64{10, 30, 60, 120, 300, 600, 900} {
		gib := func(v float64) quantity.Bytes { return quantity.Bytes(v * float64(quantity.GiB)) }
		median := from + perSecond*seconds
		list = append(list, snapshot.Prediction{
			Horizon: time.Duration(seconds) * time.Second, Median: gib(median),
			Lower80: gib(median - spread*seconds), Upper80: gib(median + spread*seconds),
		})
	}
	return list
}

// testLook is a look in a theme, without colours where none is named.
func testLook(t testing.TB, theme string, ascii bool) *look {
	t.Helper()
	profile := colorprofile.TrueColor
	if theme == "" {
		profile = colorprofile.NoTTY
	}
	styles, err := themes.New(theme, true, profile)
	if err != nil {
		t.Fatal(err)
	}
	lk := &look{Appearance: cell.Appearance{Styles: styles, Glyphs: cell.UnicodeGlyphs()}, keys: keys.New(keys.AllAbilities, false), version: "1.0.0"}
	if ascii {
		lk.Glyphs = cell.ASCIIGlyphs()
	}
	return lk
}

// leakGraph is the graph of the drawings.
func leakGraph(lk *look, since time.Duration, forecast bool) graph {
	g := graph{
		look: lk, at: drawnAt, running: true, interval: time.Second,
		history: curveHistory{curve: leak, now: drawnAt, every: time.Second, since: since},
		subject: graphSubject{
			key: snapshot.SeriesKey{GPUUUID: "GPU-3"}, name: "GPU 3 used", full: "full",
			used: known(72.9), capacity: known(79.0),
		},
	}
	if forecast {
		g.subject.predicted = predictions(72.9, 25.0/1024, 0.008)
		g.subject.fullIn = &snapshot.FullIn{Median: 250 * time.Second, Earliest: 184 * time.Second, Latest: 330 * time.Second}
	}
	return g
}

// checkCells fails where a panel is not exactly as big as asked.
func checkCells(t *testing.T, lines []string, width, height int) {
	t.Helper()
	if len(lines) != height {
		t.Errorf("%d×%d: %d lines", width, height, len(lines))
	}
	for i, l := range lines {
		if got := ansi.StringWidth(l); got != width {
			t.Errorf("%d×%d: line %d is %d cells: %q", width, height, i, got, ansi.Strip(l))
		}
	}
}
