package ui

import (
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// graph is used memory over time: what was, and where a forecaster has
// something to say, what will be.
//
//	History.Series ─→ columns (graph_columns) ─┐
//	Predicted ──────→ columns ─────────────────┼→ asciigraph (graph_plot) → styled lines
//	capacity, data ─→ scale (graph_scale) ─────┘
type graph struct {
	look    *look
	history snapshot.History // nil while there is none
	subject graphSubject
	window  time.Duration // back from at; zero takes what suits the height
	at      time.Time     // the right end of what is known
	running bool          // at is now; else the screen is frozen or in the past

	interval time.Duration // between samples: a pause up to this long is no gap
	ahead    time.Duration // what of the width a forecast takes; Render decides it
}

// graphSubject is what the graph is about.
type graphSubject struct {
	key       snapshot.SeriesKey
	name      string // "GPU 3 used"
	full      string // what the capacity line is called: "full", "GPU full"
	used      snapshot.Bytes
	capacity  snapshot.Bytes
	predicted []snapshot.Prediction
	fullIn    *snapshot.FullIn
}

// The cells that are not curve: labels and axis to the left, one blank to the
// right; title above, axis and its labels below.
const (
	graphLabelCells = 4
	graphLeft       = 1 + graphLabelCells + 1
	graphRight      = 1
	graphAround     = 3
)

// Render implements panel.
func (g graph) Render(width, height int) []string {
	if width <= 0 || height <= 0 {
		return cell.Blank(max(width, 0), height)
	}
	g.window = g.windowFor(height)
	rows := height - graphAround
	columns := width - graphLeft - graphRight
	if rows < 2 || columns < 8 {
		return cell.Fill([]string{g.title(width, false, quantity.GiB)}, width, height)
	}
	g.ahead = g.horizon(columns)
	curves := g.curves(columns)
	scale := scaleOf(curves, rows)
	lines := make([]string, 0, height)
	lines = append(lines, g.title(width, len(curves.median) > 0, scale.unit))
	lines = append(lines, plot(g.look, curves, scale, g.axis(columns), width)...)
	if !curves.any {
		lines[1+rows/2] = g.nothing(width)
	}
	return cell.Fill(lines, width, height)
}

// windowFor is the time that the history takes. A bigger panel has room for
// more, unless z has chosen.
func (g graph) windowFor(height int) time.Duration {
	switch {
	case g.window > 0:
		return g.window
	case height >= 16:
		return 10 * time.Minute
	default:
		return 5 * time.Minute
	}
}

// horizon is how far ahead a forecast is drawn: as far as the window goes
// back, but not past the last horizon worth drawing at that scale. Without a
// forecast, or where "now" could not be labelled, the past has the whole width.
func (g graph) horizon(columns int) time.Duration {
	ahead := 15 * time.Minute
	switch {
	case len(g.subject.predicted) == 0 || !g.subject.used.Known() || g.window > 2*time.Hour:
		return 0
	case g.window <= 10*time.Minute:
		ahead = min(g.window, 5*time.Minute)
	}
	if ticksFor(g.window, ahead, columns) == 0 {
		return 0
	}
	return ahead
}

// title is "── GPU 3 used, 5m back and 5m ahead ──── ─ used  - median … ──".
// The legend is shortened until it fits, and gone where nothing of it does.
func (g graph) title(width int, forecast bool, unit quantity.Bytes) string {
	s, glyphs := &g.look.Styles, &g.look.Glyphs
	name := text.Clean(g.subject.name)
	if letter := unitLetter(unit); letter != "G" {
		name += " in " + letter
	}
	name += ", " + shortSpan(g.window) + " back"
	if forecast {
		name += " and " + shortSpan(g.ahead) + " ahead"
	}
	return cell.TitledRule(&g.look.Appearance, width, name, s.Title, g.legend(width-text.Width(name)-10, forecast, glyphs))
}

// legend is the right end of the title, at most room cells wide.
func (g graph) legend(room int, forecast bool, glyphs *cell.Glyphs) []cell.Span {
	s := &g.look.Styles
	var used []cell.Span
	if g.subject.name != "used" { // the title has said it
		used = []cell.Span{{s.History, historyMark(glyphs)}, {s.Dim, " used"}}
	}
	var curves []cell.Span
	if forecast {
		curves = []cell.Span{{s.Median, glyphs.Median}, {s.Dim, " median  "}, {s.Bounds, glyphs.Bound}, {s.Dim, " 80 %"}}
	}
	var capacity, until []cell.Span
	if g.subject.capacity.Known() {
		capacity = []cell.Span{{s.Capacity, glyphs.Capacity}, {s.Dim, " " + g.subject.full}}
		until = capacity
		if clock := g.fullAt(); clock != "" {
			until = append(capacity[:2:2], cell.Span{s.Text, clock})
		}
	}
	for _, candidate := range [][][]cell.Span{{used, curves, until}, {used, curves, capacity}, {curves, capacity}, {capacity}} {
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

// fullAt is " at 12:08:27 (12:07–12:10)", the bounds rounded outward, or
// nothing where no time can be said.
func (g graph) fullAt() string {
	in := g.subject.fullIn
	if in == nil {
		return ""
	}
	text := " at " + g.at.Add(in.Median).Format(time.TimeOnly) + " (" + g.at.Add(in.Earliest).Format("15:04")
	if in.Latest <= 0 {
		return text + "+)"
	}
	latest := g.at.Add(in.Latest)
	if whole := latest.Truncate(time.Minute); whole.Before(latest) {
		latest = whole.Add(time.Minute)
	}
	return text + g.look.Glyphs.EnDash + latest.Format("15:04") + ")"
}

// nothing is the line across a graph without a single sample.
func (g graph) nothing(width int) string {
	s := "nothing was measured in this time"
	if g.history == nil {
		s = "no history yet"
	}
	l := cell.NewLine(width)
	l.Skip((width - text.Width(s)) / 2)
	l.Put(g.look.Styles.Dim, s)
	return l.String()
}

// shortSpan writes a window: "5m", "2h", "24h".
func shortSpan(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
