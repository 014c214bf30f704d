package graph

import (
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Graph draws used memory over time, with the forecast if there is one.
type Graph struct {
	Appearance *cell.Appearance
	Snapshot   *snapshot.Snapshot // the snapshot of the subject; nil while there is none
	History    snapshot.History   // nil while there is none
	Subject    Subject
	Window     time.Duration // back from At; 0: by WindowFor
	At         time.Time     // where the history ends and the forecast begins
	Running    bool          // At is now; else the screen is frozen or shows the past
	Interval   time.Duration // between samples; see tolerance
	Lines      bool          // only curves, even if an area is possible
	Tile       bool          // one of many: the title is short
	Stacks     *Stacks       // kept from earlier frames; nil: nothing is kept
	Since      time.Time     // where the subject's history begins; zero: before any window

	// Set by Render:
	ahead time.Duration // how far the forecast reaches; 0: none
	drawn column        // the highest value drawn for each part
}

// The cells and rows around the curves: labels and axis at the left, title and time axis.
const (
	labelCells = 4
	leftCells  = 1 + labelCells + 1
	rightCells = 1
	around     = 3
)

// MinHeight is the least height of a graph in a layout, GoodHeight one with enough rows to read.
const (
	MinHeight  = around + 4
	GoodHeight = around + 7
)

// Render returns exactly height lines of exactly width cells.
func (g Graph) Render(width, height int) []string {
	if g.Stacks == nil || g.Snapshot == nil || !g.Running {
		return g.render(width, height)
	}
	if key := (frameKey{g.Appearance, g.Snapshot, g.Subject.Key, g.Window, width, height, g.Lines}); g.Stacks.frame != key {
		g.Stacks.frame, g.Stacks.lines = key, g.render(width, height)
	}
	return slices.Clone(g.Stacks.lines)
}

func (g Graph) render(width, height int) []string {
	if width <= 0 || height <= 0 {
		return cell.Blank(max(width, 0), height)
	}
	g.Window = g.WindowFor(height)
	rows := height - around
	columns := width - leftCells - rightCells
	if rows < 2 || columns < 8 {
		return cell.Fill([]string{g.title(width, false, "G")}, width, height)
	}
	g.ahead = g.horizon(columns)
	curves := g.curves(columns)
	if curves.full > 0 {
		g.Subject.FullIn = nil // a tick shows the time, so the legend does not
	}
	for _, parts := range curves.parts {
		for i, v := range parts {
			g.drawn[i] = max(g.drawn[i], v)
		}
	}
	scale := scaleOf(curves, rows)
	lines := make([]string, 0, height)
	lines = append(lines, g.title(width, len(curves.median) > 0, scale.letter))
	lines = append(lines, g.plot(&curves, scale, g.axis(columns), width)...)
	if !curves.any {
		lines[1+rows/2] = g.nothing(width)
	}
	return cell.Fill(lines, width, height)
}

// WindowFor returns Window. If that is 0, the window grows with the history to 5 minutes, or to 10 in a tall panel.
func (g Graph) WindowFor(height int) time.Duration {
	if g.Window > 0 {
		return g.Window
	}
	widest := 5 * time.Minute
	if height >= 16 {
		widest = 10 * time.Minute
	}
	for _, window := range [...]time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute} {
		if !g.Since.IsZero() && g.At.Sub(g.Since) <= window {
			return window
		}
	}
	return widest
}

// horizon returns how far ahead the forecast is drawn: at most 40 % of the width. While the forecast is withheld its
// place stays empty, so that the curve does not jump. It is 0 if no forecast is to come, used memory is unknown, the
// ticks do not fit, or the window is more than 2 hours.
func (g Graph) horizon(columns int) time.Duration {
	if len(g.Subject.Predicted) == 0 && g.Subject.Doubt == snapshot.Believed || !g.Subject.Used.Known() || g.Window > 2*time.Hour {
		return 0
	}
	for _, ahead := range [...]time.Duration{
		15 * time.Minute, 5 * time.Minute, 3 * time.Minute, 2 * time.Minute, time.Minute, 30 * time.Second,
	} {
		if ahead <= g.Window*2/3 && ticksFor(g.Window, ahead, columns) > 0 {
			return ahead
		}
	}
	return 0
}

func (g Graph) area() bool { return !g.Lines && g.Appearance.Areas() }

// title returns "── GPU 3 used, 5m back and 3m ahead ──── ─ used  - forecast … ──".
func (g Graph) title(width int, forecast bool, unit string) string {
	s, glyphs := &g.Appearance.Styles, &g.Appearance.Glyphs
	name := text.Clean(g.Subject.Name)
	if g.area() {
		name = strings.TrimSuffix(name, " used")
	}
	if unit != "G" {
		name += " in " + unit
	}
	name += ", " + quantity.BriefDuration(g.Window) + " back"
	if g.Tile {
		used := glyphs.Bytes(g.Subject.Used)
		return cell.TitledRule(g.Appearance, width, strings.TrimSuffix(g.Subject.Name, " used"), s.Title, []cell.Span{{s.Text, used}, {s.Dim, " used"}})
	}
	switch words := g.Subject.Doubt.Words(); {
	case forecast:
		name += " and " + quantity.BriefDuration(g.ahead.Round(time.Second)) + " ahead"
	case words != "" && g.Running:
		name += ", " + words
	}
	return cell.TitledRule(g.Appearance, width, name, s.Title, g.legend(width-text.Width(name)-10, forecast, glyphs))
}

// legend returns the right end of the title, at most room cells wide.
func (g Graph) legend(room int, forecast bool, glyphs *cell.Glyphs) []cell.Span {
	s := &g.Appearance.Styles
	var used []cell.Span
	switch {
	case g.area():
		for i, name := range [...]string{"other", "unknown", "alloc", "frag", "cached"} {
			if g.drawn[i] == 0 {
				continue
			}
			if used != nil {
				used = append(used, cell.Span{s.Dim, " "})
			}
			ink := g.Appearance.Inks()[i]
			if g.Appearance.Smooth() {
				ink.Text = glyphs.Swatch
			}
			used = append(used, ink, cell.Span{s.Dim, " " + name})
		}
	case g.Subject.Name != "used": // the title says "used" already
		used = []cell.Span{{s.History, historyChars(glyphs).Horizontal}, {s.Dim, " used"}}
	}
	var curves []cell.Span
	if forecast {
		curves = []cell.Span{{s.Median, glyphs.Median}, {s.Dim, " forecast  "}, {s.Bounds, glyphs.Bound}, {s.Dim, " 80 % range"}}
		if g.area() && g.Appearance.Smooth() {
			curves = []cell.Span{{s.Median, quarters[1]}, {s.Dim, " forecast  "}, {s.Veil[0], glyphs.Swatch}, {s.Dim, " 80 % range"}}
		}
	}
	var capacity, until []cell.Span
	if g.Subject.Capacity.Known() {
		capacity = []cell.Span{{s.Capacity, glyphs.Capacity}, {s.Dim, " " + g.Subject.Full}}
		until = capacity
		if clock := g.fullAt(); clock != "" {
			until = append(capacity[:2:2], cell.Span{s.Text, clock})
		}
	}
	for _, candidate := range [][][]cell.Span{{used, curves, until}, {used, curves, capacity}, {used, curves}, {curves, until}, {curves, capacity}, {capacity}} {
		var parts []cell.Span
		for _, part := range candidate {
			if len(part) == 0 {
				continue
			}
			if len(parts) > 0 {
				parts = append(parts, cell.Span{s.Dim, "  "})
			}
			parts = append(parts, part...)
		}
		if cells := cell.SpansWidth(parts); cells > 0 && cells <= room {
			return parts
		}
	}
	return nil
}

// fullAt returns " at 12:08:27 (12:07–12:10)", the bounds rounded outward, "" where unknown.
func (g Graph) fullAt() string {
	in := g.Subject.FullIn
	if in == nil {
		return ""
	}
	text := " at " + g.At.Add(in.Median).Format(time.TimeOnly) + " (" + g.At.Add(in.Earliest).Format("15:04")
	if in.Latest <= 0 {
		return text + "+)"
	}
	latest := g.At.Add(in.Latest)
	if whole := latest.Truncate(time.Minute); whole.Before(latest) {
		latest = whole.Add(time.Minute)
	}
	return text + g.Appearance.Glyphs.EnDash + latest.Format("15:04") + ")"
}

func (g Graph) nothing(width int) string {
	s := "nothing was measured in this time"
	if g.History == nil {
		s = "no history yet"
	}
	l := cell.NewLine(width)
	l.Skip((width - text.Width(s)) / 2)
	l.Put(g.Appearance.Styles.Dim, s)
	return l.String()
}
