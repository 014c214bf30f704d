// Package uitest has fixtures and checks for the tests of ui and of the packages below it.
package uitest

import (
	"math"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// DrawnAt is the moment of the drawings.
var DrawnAt = time.Date(2026, 11, 20, 12, 4, 17, 0, time.UTC)

// CurveHistory is a history of one curve with a sample at each interval of Every; NaN is a missing sample.
type CurveHistory struct {
	Curve func(age time.Duration) float64 // GiB, by the time before now
	Now   time.Time
	Every time.Duration
	Since time.Duration // how long it has been measured
	Log   []snapshot.Event
}

func (h CurveHistory) At(time.Time) (*snapshot.Snapshot, bool) { return nil, false }

func (h CurveHistory) Span() (oldest, newest time.Time) { return h.Now.Add(-h.Since), h.Now }

func (h CurveHistory) Events(limit int) []snapshot.Event {
	if limit > 0 && limit < len(h.Log) {
		return h.Log[:limit]
	}
	return h.Log
}

func (h CurveHistory) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, buckets)
	width := to.Sub(from) / time.Duration(buckets)
	for i := range points {
		points[i].Time = from.Add(time.Duration(i+1) * width)
	}
	for age := h.Since - h.Since%h.Every; age >= 0; age -= h.Every {
		at := h.Now.Add(-age)
		i := int(at.Sub(from)-1) / int(width)
		value := h.Curve(age)
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

// Leak returns the used memory of carol's process in GiB. It grows by 25 MiB a second, in steps, to 72.9 GiB now.
func Leak(age time.Duration) float64 {
	grown := 25.0 / 1024 * age.Seconds()
	return 72.9 - math.Floor(grown/1.5)*1.5
}

func Known(amount float64) snapshot.Bytes {
	return quantity.From(quantity.Bytes(amount*float64(quantity.GiB)), quantity.Driver)
}

func Predictions(from, perSecond, spread float64) []snapshot.Prediction {
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

// Appearance returns a theme with every key bound. Without the name of a theme it has no colours.
func Appearance(t testing.TB, theme string, ascii bool) *cell.Appearance {
	t.Helper()
	profile := colorprofile.TrueColor
	if theme == "" {
		profile = colorprofile.NoTTY
	}
	styles, err := themes.New(theme, true, profile)
	if err != nil {
		t.Fatal(err)
	}
	return &cell.Appearance{Styles: styles, Glyphs: cell.GlyphsFor(ascii), Keys: keys.New(keys.AllAbilities, false), Version: "1.0.0"}
}

// CheckCells fails where a panel is not exactly as big as asked.
func CheckCells(t *testing.T, lines []string, width, height int) {
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

// PointsHistory returns given amounts for every series.
type PointsHistory struct {
	CurveHistory
	Amounts []int64
}

func (h PointsHistory) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, buckets)
	for i := range points {
		if len(h.Amounts) > 0 {
			a := h.Amounts[i%len(h.Amounts)]
			points[i] = snapshot.Point{Min: a, Max: a, Last: a, Known: a != math.MinInt64+1}
		}
	}
	return points
}

// EventLog returns a day of events, newest first.
func EventLog() []snapshot.Event {
	id := func(pid int) snapshot.RowID { return snapshot.RowID{Process: process.Identity{PID: pid, StartTime: 1}} }
	return []snapshot.Event{
		{Time: DrawnAt.Add(-8 * time.Second), Kind: snapshot.EventAlarm, GPU: 3, GPUUUID: "GPU-3", Row: id(2963112), User: "carol",
			Name: "finetune.py", Severity: snapshot.Urgent, Message: "full in 4m10s (3m–6m)"},
		{Time: DrawnAt.Add(-134 * time.Second), Kind: snapshot.EventGPULost, GPU: 6, GPUUUID: "GPU-6", Message: "lost, had 41.2G in use"},
		{Time: DrawnAt.Add(-time.Hour), Kind: snapshot.EventSignal, GPU: 0, GPUUUID: "GPU-0", Row: id(7), User: "bob", Name: "x", Message: "sent TERM"},
		{Time: DrawnAt.Add(-2 * time.Hour), Kind: snapshot.EventDriverBack, Message: "driver reloaded: 550.163.01"},
		{Time: DrawnAt.Add(-13 * time.Hour), Kind: snapshot.EventEnded, GPU: 1, GPUUUID: "GPU-1", Row: id(2961877), User: "alice-of-research",
			Name: "train.py", Message: "ended: was 60.1G, peak 71.3G, out of memory x1"},
		{Time: DrawnAt.Add(-14 * time.Hour), Kind: snapshot.EventStarted, GPU: 1, GPUUUID: "GPU-1", Row: id(2961877),
			Name: "tr\x1b[31main.py", Message: "started\r\n"},
	}
}
