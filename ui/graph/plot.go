package graph

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"

	"vramscope/internal/quantity"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// asciigraph draws the curves. Its colours only mark kinds of cells; restyled replaces them by styles.
const (
	markCapacity asciigraph.AnsiColor = iota + 1
	markBounds
	markMedian
	markHistory
	markAxis
	markLabel
)

type timeAxis struct {
	from, to time.Duration // relative to the right end of the history
	ticks    int
	moment   string // "now", or "then" where the screen does not show now
}

var tickSteps = [...]time.Duration{
	10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// ticksFor returns how many ticks fit at round times, including one at "now"; 0 if none fit.
func ticksFor(window, ahead time.Duration, columns int) int {
	for _, step := range tickSteps {
		if step < time.Minute && window >= 3*time.Minute {
			continue
		}
		cells := 7 // for a label and a gap: "-10m", and "-1m30s" with steps below a minute
		if step < time.Minute {
			cells = 9
		}
		n := int((window + ahead) / step)
		if window%step == 0 && ahead%step == 0 && n*cells < columns {
			return n + 1
		}
	}
	return 0
}

func (g Graph) axis(columns int) timeAxis {
	a := timeAxis{from: -g.Window, to: g.ahead, ticks: max(ticksFor(g.Window, g.ahead, columns), 2), moment: "now"}
	if !g.Running {
		a.moment = "then"
	}
	return a
}

func (a timeAxis) label(seconds float64) string {
	d := time.Duration(math.Round(seconds)) * time.Second
	switch {
	case d == 0:
		return a.moment
	case d > 0:
		return "+" + quantity.BriefDuration(d.Round(time.Second))
	default:
		return quantity.BriefDuration(d.Round(time.Second))
	}
}

// plot draws the rows, the time axis and its labels. The series are in units of rows, with fixed bounds: asciigraph
// would round its own bounds and change the number of rows.
func (g Graph) plot(c *curves, scale yAxis, axis timeAxis, width int) []string {
	lk := g.Appearance
	lines := make([]string, 0, scale.rows+2)
	l := cell.NewLine(width)
	under := newArea(lk, c, scale)
	for row := range strings.SplitSeq(lined(lk, c, scale, axis), "\n") {
		l.Reset(width)
		if len(lines) < scale.rows {
			under.row = scale.rows - 1 - len(lines)
			lines = append(lines, restyled(lk, l, row, &under))
			continue
		}
		lines = append(lines, restyled(lk, l, row, nil))
	}
	return lines
}

func lined(lk *cell.Appearance, c *curves, scale yAxis, axis timeAxis) string {
	g := &lk.Glyphs
	const maxSeries = 5 // capacity, bounds, median, history
	series := make([][]float64, 0, maxSeries)
	marks := make([]asciigraph.AnsiColor, 0, maxSeries)
	chars := make([]asciigraph.CharSet, 0, maxSeries)
	add := func(values []float64, mark asciigraph.AnsiColor, set asciigraph.CharSet) {
		rows := make([]float64, len(values))
		for i, v := range values {
			rows[i] = scale.row(v)
		}
		series, marks, chars = append(series, rows), append(marks, mark), append(chars, set)
	}
	// Later series are drawn over earlier ones.
	add(slices.Repeat([]float64{c.capacity}, len(c.history)), markCapacity, asciigraph.CreateCharSet(g.Capacity))
	smooth := len(c.parts) > 0 && lk.Smooth()
	if len(c.median) > 0 && !smooth {
		lower := slices.Clone(c.lower)
		for i, v := range lower {
			if scale.below(v) {
				lower[i] = math.NaN()
			}
		}
		add(lower, markBounds, asciigraph.CreateCharSet(g.Bound))
		add(c.upper, markBounds, asciigraph.CreateCharSet(g.Bound))
	}
	if len(c.median) > 0 && !smooth {
		add(c.median, markMedian, asciigraph.CreateCharSet(g.Median))
	}
	if !smooth {
		add(c.history, markHistory, historyChars(g))
	}

	return asciigraph.PlotMany(series,
		asciigraph.Height(scale.rows-1), asciigraph.LowerBound(0), asciigraph.UpperBound(float64(scale.rows-1)),
		asciigraph.Offset(2), asciigraph.SeriesColors(marks...), asciigraph.SeriesChars(chars...),
		asciigraph.AxisColor(markAxis), asciigraph.LabelColor(markLabel),
		asciigraph.YAxisValueFormatter(func(row float64) string {
			label := scale.labels[min(max(int(math.Round(row)), 0), scale.rows-1)]
			return strings.Repeat(" ", max(labelCells-len(label), 0)) + label
		}),
		asciigraph.XAxisRange(axis.from.Seconds(), axis.to.Seconds()),
		asciigraph.XAxisTickCount(axis.ticks), asciigraph.XAxisValueFormatter(axis.label),
	)
}

// historyChars avoid the round corners of asciigraph: many fonts lack them.
func historyChars(g *cell.Glyphs) asciigraph.CharSet {
	if g.ASCII {
		return asciigraph.CharSet{
			Horizontal: "_", VerticalLine: "|", ArcDownRight: "_", ArcDownLeft: "_", ArcUpRight: "|", ArcUpLeft: "|",
			EndCap: "_", StartCap: "_",
		}
	}
	return asciigraph.CharSet{
		Horizontal: "─", VerticalLine: "│", ArcDownRight: "┌", ArcDownLeft: "┐", ArcUpRight: "└", ArcUpLeft: "┘",
		EndCap: "─", StartCap: "─",
	}
}

// restyled writes a row in the theme's colours and, in ASCII, with another axis. Where there is no curve the area shows.
func restyled(lk *cell.Appearance, l *cell.Line, row string, under *area) string {
	mark, last := asciigraph.Default, asciigraph.Default
	for row != "" {
		run, rest, coloured := strings.Cut(row, "\x1b[")
		if run != "" {
			last = mark
			if lk.Glyphs.ASCII {
				run = asciiAxis.Replace(run)
			}
			if under == nil {
				l.Put(inkOf(mark, &lk.Styles), run)
			} else {
				under.write(l, mark, run)
			}
		}
		if !coloured {
			break
		}
		code, after, _ := strings.Cut(rest, "m")
		mark = asciigraph.Default
		if len(code) == 2 && code[0] == '3' {
			mark = asciigraph.AnsiColor(code[1] - '0')
		}
		row = after
	}
	if under != nil {
		// asciigraph omits the last column: the mark before it goes on.
		tail := " "
		if last == markCapacity {
			tail = lk.Glyphs.Capacity
		}
		under.write(l, last, strings.Repeat(tail, max(leftCells+under.wide-l.Used(), 0)))
	}
	return l.String()
}

// asciiAxis replaces the glyphs with which asciigraph draws its axes. It never changes.
var asciiAxis = strings.NewReplacer("┤", "|", "┼", "+", "└", "+", "┬", "+", "─", "-")

func inkOf(mark asciigraph.AnsiColor, s *themes.Styles) themes.Style {
	switch mark {
	case markCapacity:
		return s.Capacity
	case markBounds:
		return s.Bounds
	case markMedian:
		return s.Median
	case markHistory:
		return s.History
	case markAxis:
		return s.Rule
	case markLabel:
		return s.Dim
	default:
		return s.Text
	}
}
