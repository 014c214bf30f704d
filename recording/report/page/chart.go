package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/schema"
)

// The size of a chart and the edges of its plot, in units of the viewBox. The amounts are to
// the right of the plot, the times below it.
const (
	chartWidth, chartHeight  = 340, 128
	left, top, right, bottom = 1, 17, 293, 107
)

// parts are the CSS classes of the areas of a chart, from the bottom up.
var parts = [...]string{"other", "unknown", "allocated", "fragmented", "cached"}

// chart builds an SVG. The style sheet has the colours.
type chart struct {
	strings.Builder
	from, to time.Time
	highest  quantity.Bytes
}

func drawGPU(g *schema.ReportGPU, period *schema.ReportPeriod, events []schema.ReportEvent) string {
	c := &chart{from: time.Time(period.From), to: time.Time(period.To), highest: 1}
	for i := range g.Timeline {
		c.highest = max(c.highest, g.Timeline[i].UsedMaxBytes.Or(0), g.Timeline[i].UsedBytes.Or(0))
	}
	c.highest = g.CapacityBytes.Or(c.highest)
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">`, chartWidth, chartHeight)
	c.path("canvas", "M %d %d H %d V %d H %d Z", left, top, right, bottom, left)
	for _, t := range timeTicks(c.from, c.to) {
		fmt.Fprintf(c, `<text x="%d" y="%d" text-anchor="middle" class="axis text">%s</text>`, c.x(t.at), chartHeight-1, t.label)
	}
	for _, amount := range []quantity.Bytes{0, c.highest / 2, c.highest} {
		label := amount.String()
		if amount == 0 {
			label = "0"
		}
		fmt.Fprintf(c, `<text x="%d" y="%d" class="axis text">%s</text>`, right+11, c.y(float64(amount))+5, label)
	}
	middle := c.y(float64(c.highest) / 2)
	c.path("grid", "M %d %d H %d", left, middle, right)
	all, bucket := runs(g.Timeline)
	for _, points := range all {
		c.areas(points, bucket)
	}
	c.marks(slices.DeleteFunc(slices.Clone(events), func(e schema.ReportEvent) bool { return e.UUID != g.UUID || classOf(&e) == "" }))
	c.WriteString("</svg>")
	return c.String()
}

func (c *chart) path(class, format string, numbers ...any) {
	fmt.Fprintf(c, `<path class="%s" d="%s"/>`, class, fmt.Sprintf(format, numbers...))
}

func (c *chart) x(t time.Time) int {
	return left + int(float64(t.Sub(c.from))/float64(c.to.Sub(c.from))*(right-left)+.5)
}

func (c *chart) y(amount float64) int {
	return bottom - int(amount/float64(c.highest)*(bottom-top)+.5)
}

// runs splits points where there is a gap. bucket is the shortest time between two points, at least
// a minute.
func runs(points []schema.ReportPoint) (all [][]schema.ReportPoint, bucket time.Duration) {
	since := func(i int) time.Duration { return time.Time(points[i].Time).Sub(time.Time(points[i-1].Time)) }
	for i := 1; i < len(points); i++ {
		if d := since(i); bucket == 0 || d < bucket {
			bucket = d
		}
	}
	bucket = max(bucket, time.Minute)
	for i, begin := 1, 0; i <= len(points); i++ {
		if i == len(points) || since(i) > bucket {
			all = append(all, points[begin:i])
			begin = i
		}
	}
	return all, bucket
}

// areas draws the stacked parts of a run, the top part first, and the line of peaks. The value of a
// bucket lasts from its beginning to its end, or to the end of the period.
func (c *chart) areas(points []schema.ReportPoint, bucket time.Duration) {
	var x []int
	sums := [len(parts)][]float64{}
	var peaks []float64
	for i := range points {
		p := &points[i]
		begin := time.Time(p.Time)
		heights := stacked(p)
		for _, at := range [...]time.Time{begin, begin.Add(bucket)} {
			x = append(x, min(max(c.x(at), left), right))
			for k := range parts {
				sums[k] = append(sums[k], heights[k])
			}
			peaks = append(peaks, float64(max(p.UsedMaxBytes.Or(0), p.UsedBytes.Or(0))))
		}
	}
	for k := len(parts) - 1; k >= 0; k-- {
		if k == 0 && slices.Max(sums[0]) > 0 || k > 0 && !slices.Equal(sums[k], sums[k-1]) {
			c.path("part "+parts[k], "M %d %d L%s L %d %d Z", x[0], bottom, c.line(x, sums[k]), x[len(x)-1], bottom)
		}
	}
	c.path("peak", "M%s", c.line(x, peaks))
}

// line returns the points of a path. It leaves out a point that is as high as both neighbours.
func (c *chart) line(x []int, amounts []float64) string {
	var points strings.Builder
	for i, amount := range amounts {
		y := c.y(amount)
		if i > 0 && i < len(x)-1 && c.y(amounts[i-1]) == y && c.y(amounts[i+1]) == y {
			continue
		}
		fmt.Fprintf(&points, " %d %d", x[i], y)
	}
	return points.String()
}

// stacked returns the upper edge of each part, at most used. Memory in no other part is unknown.
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

// mostRules is the most events of a chart that get a line through the areas; more would hide them.
const mostRules = 24

func (c *chart) marks(events []schema.ReportEvent) {
	last := map[string]int{} // the x of the last mark of a class
	many := len(events) > mostRules
	for i := range events {
		class := classOf(&events[i])
		x := c.x(time.Time(events[i].Time))
		if at, drawn := last[class]; drawn && (x-at < 3 || many && x-at < 9) {
			continue
		}
		last[class] = x
		if !many {
			c.path("mark "+class, "M %d %d V %d", x, top, bottom)
		}
		if class == "oom" {
			c.path("mark oom", "M %d %d H %d L %d %d Z", x-4, top-9, x+4, x, top-2)
		} else {
			fmt.Fprintf(c, `<circle class="mark %s" cx="%d" cy="%d" r="3"/>`, class, x, top-5)
		}
	}
}

// classOf returns the CSS classes of an event, "" for an event that is not drawn.
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

type tick struct {
	at    time.Time
	label string
}

// timeTicks returns a few round times for the axis.
func timeTicks(from, to time.Time) (ticks []tick) {
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
		// A label at the edge would be cut off.
		if at := t.Sub(from); at >= length/30 && at <= length-length/20 {
			ticks = append(ticks, tick{t, t.Format(layout)})
		}
	}
	return ticks
}
