package page

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"time"

	chart "github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"

	"vramscope/internal/quantity"
	"vramscope/schema"
)

// The size of a chart in its own units: pixels on a telephone.
const (
	chartWidth  = 340
	chartHeight = 128
)

// parts are the areas of a chart from the bottom up, in the order of the monitor's
// bars, and their classes.
var parts = [...]string{"other", "unknown", "allocated", "fragmented", "cached"}

// classed is a style that is left to the style sheet.
func classed(name string) chart.Style {
	return chart.Style{ClassName: name, FontSize: 8.5, FillColor: drawing.ColorBlack, StrokeColor: drawing.ColorBlack, StrokeWidth: 1}
}

var hidden = chart.Style{Hidden: true}

// drawGPU is the chart of a GPU: its parts over time, its peaks, and its events.
func drawGPU(g *schema.ReportGPU, period *schema.ReportPeriod, events []schema.ReportEvent) (template.HTML, error) {
	from, to := time.Time(period.From), time.Time(period.To)
	highest := quantity.Bytes(1)
	for i := range g.Timeline {
		highest = max(highest, g.Timeline[i].UsedMaxBytes.Or(0), g.Timeline[i].UsedBytes.Or(0))
	}
	highest = g.CapacityBytes.Or(highest)
	c := chart.Chart{
		Width: chartWidth, Height: chartHeight,
		Background: chart.Style{ClassName: "ground", Padding: chart.Box{Top: 12, Left: 1, Right: 8, Bottom: 1, IsSet: true}},
		Canvas:     classed("canvas"),
		XAxis: chart.XAxis{
			Style: classed("axis"), Range: &chart.ContinuousRange{Min: 0, Max: to.Sub(from).Seconds()}, Ticks: timeTicks(from, to),
			GridMajorStyle: hidden, GridMinorStyle: hidden,
		},
		YAxis: chart.YAxis{
			Style: classed("axis"), Range: &chart.ContinuousRange{Min: 0, Max: float64(highest)},
			Ticks: []chart.Tick{{Value: 0, Label: "0"}, {Value: float64(highest) / 2, Label: (highest / 2).String()}, {Value: float64(highest), Label: highest.String()}},
			Zero:  chart.GridLine{Style: hidden}, GridMajorStyle: hidden, GridMinorStyle: hidden,
		},
		YAxisSecondary: chart.YAxis{Style: hidden, GridMajorStyle: hidden, GridMinorStyle: hidden},
		Elements:       []chart.Renderable{marks(g, from, to, events)},
	}
	half := float64(highest) / 2
	c.Series = []chart.Series{&area{chart.ContinuousSeries{Style: classed("grid"), XValues: []float64{0, to.Sub(from).Seconds()}, YValues: []float64{half, half}}, false}}
	for _, run := range runs(g.Timeline) {
		c.Series = append(c.Series, areas(run, from, to)...)
	}
	var out bytes.Buffer
	if err := c.Render(chart.SVGWithCSS("", ""), &out); err != nil {
		return "", fmt.Errorf("chart of GPU %d: %w", g.GPU, err)
	}
	return template.HTML(out.String()), nil //nolint:gosec // numbers only
}

// bucketLength is the least time between two points: the length of a bucket.
func bucketLength(points []schema.ReportPoint) time.Duration {
	length := time.Duration(0)
	for i := 1; i < len(points); i++ {
		if d := time.Time(points[i].Time).Sub(time.Time(points[i-1].Time)); length == 0 || d < length {
			length = d
		}
	}
	return max(length, time.Minute)
}

// run is points without a gap between them.
type run struct {
	points []schema.ReportPoint
	length time.Duration
}

func runs(points []schema.ReportPoint) (all []run) {
	length, begin := bucketLength(points), 0
	for i := 1; i <= len(points); i++ {
		if i == len(points) || time.Time(points[i].Time).Sub(time.Time(points[i-1].Time)) > length {
			all = append(all, run{points[begin:i], length})
			begin = i
		}
	}
	return all
}

// areas are the stacked parts of a run, the highest first, and the line of peaks. A
// bucket's value stands from its beginning to its end, or to that of the period.
func areas(r run, from, to time.Time) (series []chart.Series) {
	var x []float64
	sums := [len(parts)][]float64{}
	var peaks []float64
	for i := range r.points {
		p := &r.points[i]
		begin := time.Time(p.Time).Sub(from).Seconds()
		heights := stacked(p)
		for _, at := range [...]float64{max(begin, 0), min(begin+r.length.Seconds(), to.Sub(from).Seconds())} {
			x = append(x, at)
			for k := range parts {
				sums[k] = append(sums[k], heights[k])
			}
			peaks = append(peaks, float64(max(p.UsedMaxBytes.Or(0), p.UsedBytes.Or(0))))
		}
	}
	for k := len(parts) - 1; k >= 0; k-- {
		if k == 0 && slices.Max(sums[0]) > 0 || k > 0 && !slices.Equal(sums[k], sums[k-1]) {
			series = append(series, &area{chart.ContinuousSeries{Style: classed("part " + parts[k]), XValues: x, YValues: sums[k]}, true})
		}
	}
	return append(series, &area{chart.ContinuousSeries{Style: classed("peak"), XValues: x, YValues: peaks}, false})
}

// area is a series that is filled down to nothing or is a line, without the points
// that no eye would see.
type area struct {
	chart.ContinuousSeries
	filled bool
}

func (a *area) Render(r chart.Renderer, box chart.Box, x, y chart.Range, _ chart.Style) {
	a.Style.WriteDrawingOptionsToRenderer(r)
	at := func(i int) (int, int) {
		return box.Left + x.Translate(a.XValues[i]), box.Bottom - y.Translate(a.YValues[i])
	}
	first, lastY := at(0)
	if a.filled {
		r.MoveTo(first, box.Bottom)
		r.LineTo(first, lastY)
	} else {
		r.MoveTo(first, lastY)
	}
	last := len(a.XValues) - 1
	for i := 1; i <= last; i++ {
		px, py := at(i)
		_, before := at(i - 1)
		if i < last {
			if _, next := at(i + 1); py == before && py == next {
				continue
			}
		}
		r.LineTo(px, py)
	}
	if !a.filled {
		r.SetFillColor(drawing.ColorTransparent)
		r.Stroke()
		return
	}
	end, _ := at(last)
	r.LineTo(end, box.Bottom)
	r.Close()
	r.SetStrokeColor(drawing.ColorTransparent)
	r.Fill()
}

// stacked is how high each part reaches. What no part explains is unknown, and no
// part reaches above what is used.
func stacked(p *schema.ReportPoint) (heights [len(parts)]float64) {
	used := p.UsedBytes.Or(0)
	sizes := [len(parts)]quantity.Bytes{p.OtherBytes.Or(0), 0, p.AllocatedBytes.Or(0), p.FragmentedBytes.Or(0), p.CachedBytes.Or(0)}
	rest := used
	for _, size := range sizes {
		rest -= max(size, 0)
	}
	sizes[1] = max(rest, 0)
	sum := quantity.Bytes(0)
	for k, size := range sizes {
		sum += max(size, 0)
		heights[k] = float64(min(sum, used))
	}
	return heights
}

// mostRules is how many events are marked by a line through the areas, too. More
// would hide them.
const mostRules = 24

// marks are the events of a GPU, above the areas.
func marks(g *schema.ReportGPU, from, to time.Time, events []schema.ReportEvent) chart.Renderable {
	events = slices.DeleteFunc(slices.Clone(events), func(e schema.ReportEvent) bool { return e.UUID != g.UUID || classOf(&e) == "" })
	return func(r chart.Renderer, box chart.Box, _ chart.Style) {
		last := map[string]int{} // where the last one of a class is
		many := len(events) > mostRules
		for i := range events {
			e := &events[i]
			class := classOf(e)
			at := float64(time.Time(e.Time).Sub(from)) / float64(to.Sub(from))
			x := box.Left + int(at*float64(box.Width()))
			if at, drawn := last[class]; drawn && (x-at < 3 || many && x-at < 9) {
				continue
			}
			last[class] = x
			r.ResetStyle()
			r.SetClassName("mark " + class)
			r.SetStrokeColor(drawing.ColorBlack)
			r.SetFillColor(drawing.ColorBlack)
			if !many {
				r.MoveTo(x, box.Top)
				r.LineTo(x, box.Bottom)
				r.Stroke()
			}
			if class == "oom" {
				r.MoveTo(x-4, box.Top-9)
				r.LineTo(x+4, box.Top-9)
				r.LineTo(x, box.Top-2)
				r.Close()
				r.FillStroke()
				continue
			}
			r.Circle(3, x, box.Top-5)
		}
	}
}

// classOf is how an event is drawn; "" where it is not.
func classOf(e *schema.ReportEvent) string {
	switch e.Kind {
	case "out_of_memory":
		return "oom"
	case "full_in":
		if e.Outcome == "hit" {
			return "alert"
		}
		return "alert wrong"
	case "flush":
		return "flush"
	case "gpu_lost":
		return "lost"
	}
	return ""
}

// timeTicks are round moments, about five, and both ends without a label.
func timeTicks(from, to time.Time) (ticks []chart.Tick) {
	const hour, day = time.Hour, 24 * time.Hour
	length := to.Sub(from)
	step, layout := day, "Jan 2"
	for _, s := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day} {
		if step = s; length/s <= 6 {
			break
		}
	}
	if step < day {
		layout = "15:04"
		if length > day {
			layout = "2 15:04"
		}
	}
	y, m, d := from.Date()
	first := time.Date(y, m, d, 0, 0, 0, 0, from.Location())
	for t := first; t.Before(to); t = t.Add(step) {
		// A label at the very edge would be cut.
		if at := t.Sub(from); at >= length/30 && at <= length-length/20 {
			ticks = append(ticks, chart.Tick{Value: at.Seconds(), Label: t.Format(layout)})
		}
	}
	// The axis reaches from the first tick to the last.
	return append(append([]chart.Tick{{}}, ticks...), chart.Tick{Value: length.Seconds()})
}
