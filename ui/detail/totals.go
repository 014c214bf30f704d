package detail

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// totals returns the figures of all allocators together, and the evictable caches.
func (d Panel) totals(width int) []string {
	var lines []string
	if facts := d.figuresOfAll(width - 2); facts != "" {
		lines = append(lines, d.text(width, cell.Span{d.Appearance.Styles.Text, facts}))
	}
	if names := d.evictable(); names != "" {
		lines = append(lines, d.text(width, cell.Span{d.Appearance.Styles.Text, names}))
	}
	return lines
}

// figuresOfAll returns "largest free 2.00G   segments 812   …", as many as fit.
func (d Panel) figuresOfAll(cells int) string {
	p := d.process
	var largest snapshot.Bytes
	var segments, blocks quantity.Optional[int64]
	for i := range p.Allocators {
		a := &p.Allocators[i]
		if v, ok := a.LargestFree.Value(); ok && v >= largest.Or(0) {
			largest = a.LargestFree
		}
		if a.Kind != kindRaw { // raw allocations have a line of their own
			segments, blocks = quantity.Sum(segments, a.Segments), quantity.Sum(blocks, a.Blocks)
		}
	}
	var facts []string
	amount := func(name string, v snapshot.Bytes) {
		if v, ok := v.Value(); ok {
			facts = append(facts, name+" "+v.String())
		}
	}
	count := func(name string, v quantity.Optional[int64]) {
		if v, ok := v.Value(); ok {
			facts = append(facts, name+" "+strconv.FormatInt(v, 10))
		}
	}
	amount("largest free", largest)
	count("segments", segments)
	count("blocks", blocks)
	if p.Probe != nil {
		count("out of memory", p.Probe.OutOfMemoryCount)
		count("retries", p.Probe.AllocRetries)
	}
	if d.ended == nil {
		amount("peak used", p.Peak)
	}
	s := ""
	for _, fact := range facts {
		if s != "" {
			fact = "   " + fact
		}
		if text.Width(s)+text.Width(fact) > cells {
			break
		}
		s += fact
	}
	return s
}

// served returns the report of the process's server.
func (d Panel) served(width int) []string {
	s := d.process.Served
	if s == nil || d.ended != nil {
		return nil
	}
	words := cmp.Or(s.Report(), "nothing of its memory")
	if idle := d.Now.Since(s.IdleSince); !s.IdleSince.IsZero() && idle >= time.Minute {
		words += ", no request for " + quantity.Duration(idle)
	} else if requests, ok := s.Requests.Value(); ok && requests > 0 {
		words += ", " + text.Plural(requests, "request", "requests")
	}
	return []string{d.text(width, cell.Span{d.Appearance.Styles.Dim, "reported by the server: "}, cell.Span{d.Appearance.Styles.Text, text.Clean(words)})}
}

// demand returns the demand of the process, unknown if it has ended.
func (d Panel) demand() snapshot.Demand {
	if d.ended != nil {
		return snapshot.Demand{}
	}
	return snapshot.DemandOf(d.History, time.Time(d.Now), d.process)
}

// needs returns "will need more: 0 in 10s, 2.10G–8.00G in 1m, …": the median and the upper quantile of the demand.
func (d Panel) needs(width, room int) []string {
	demand := d.demand()
	if !demand.Known || room <= 0 {
		return nil
	}
	most := max(d.gpuFull-d.process.Allocated.Or(0), 0)
	var parts []string
	for i, within := range snapshot.DemandTimes {
		n := demand.Within[i]
		if d.gpuFull > 0 {
			n.Median, n.Upper = min(n.Median, most), min(n.Upper, most)
		}
		amount := n.Median.String()
		if n.Upper > n.Median {
			amount += d.Appearance.Glyphs.EnDash + n.Upper.String()
		}
		parts = append(parts, amount+" in "+quantity.BriefDuration(within))
	}
	return []string{d.text(width, cell.Span{d.Appearance.Styles.Text, "will need more: " + strings.Join(parts, ", ")})}
}

// evictable names the caches that a selective flush evicts, in the order in which it evicts them.
func (d Panel) evictable() string {
	if len(d.process.Evictable) == 0 {
		return ""
	}
	words, sizes := cell.CachesInWords(d.process.Evictable, d.Appearance.Glyphs.Dash, func(c *snapshot.Evictable) string {
		return " (prio " + strconv.FormatFloat(c.Priority, 'g', 6, 64) + ")"
	})
	return "evictable: " + words + map[bool]string{false: "; sizes not reported"}[sizes]
}

// outlookColumn is where the forecast begins, after the trend.
const outlookColumn = 30

// outlook returns the line of trend and forecast; none if there is neither.
func (d Panel) outlook(width int) []string {
	trend, style := d.trend()
	ahead := d.ahead()
	if trend == "" && ahead == "" || d.ended != nil {
		return nil
	}
	l := d.line(width)
	l.Skip(1)
	l.PutSpans([]cell.Span{{style, trend}}, width-1, d.Appearance.Glyphs.Ellipsis)
	if ahead != "" {
		if trend != "" {
			l.Skip(2)
			l.To(min(outlookColumn, max(width-1-text.Width(ahead), l.Used())))
		}
		l.PutSpans([]cell.Span{{d.Appearance.Styles.Text, ahead}}, width-1, d.Appearance.Glyphs.Ellipsis)
	}
	return []string{l.String()}
}

func (d Panel) trend() (string, themes.Style) {
	s, p := &d.Appearance.Styles, d.process
	rate := ""
	if v, ok := p.GrowthPerSecond.Value(); ok && v != 0 {
		rate = " " + cell.PerSecond(v)
		if v > 0 {
			rate = " +" + cell.PerSecond(v)
		}
	}
	if words := p.Doubt.Words(); words != "" {
		return words, s.Dim
	}
	switch p.Trend {
	case snapshot.TrendLeak:
		text := "LEAK" + rate
		if d.leak != nil && !d.leak.Since.IsZero() {
			since := d.Now.Clock(d.leak.Since)
			text += " since " + strings.TrimSuffix(since, since[len(since)-3:])
		}
		return text, s.Leak
	case snapshot.TrendGrowing:
		return "growing" + rate, s.Text
	case snapshot.TrendShrinking:
		return "shrinking" + rate, s.Text
	case snapshot.TrendSawtooth:
		return "up and down", s.Text
	case snapshot.TrendSteady:
		return "steady", s.Dim
	case snapshot.TrendYoung:
		return snapshot.Young.Words(), s.Dim
	default:
		return "", s.Text
	}
}

// outlookHorizons are the two forecasts for which the line has room.
var outlookHorizons = [...]time.Duration{time.Minute, 5 * time.Minute}

// ahead returns "+1m 72.1G (71.9–72.4)   +5m full (75.9G–full)".
func (d Panel) ahead() string {
	var parts []string
	for _, horizon := range outlookHorizons {
		for i := range d.process.Predicted {
			if f := d.process.Predicted[i]; f.Horizon == horizon {
				if d.fullIn != nil && horizon >= d.fullIn.Median { // the GPU is full by then, including what others use
					f.Median, f.Upper80 = max(f.Median, d.gpuFull), max(f.Upper80, d.gpuFull)
				}
				parts = append(parts, "+"+quantity.BriefDuration(horizon)+" "+d.amount(f.Median)+d.bounds(&f))
			}
		}
	}
	return strings.Join(parts, "   ")
}

// amount returns a predicted amount, or "full" from gpuFull on.
func (d Panel) amount(v quantity.Bytes) string {
	if d.gpuFull > 0 && v >= d.gpuFull {
		return "full"
	}
	return max(v, 0).String()
}

// bounds returns " (71.9–72.4)", "" where both equal the median.
func (d Panel) bounds(f *snapshot.Prediction) string {
	low, high := d.amount(f.Lower80), d.amount(f.Upper80)
	if low == high && low == d.amount(f.Median) {
		return ""
	}
	if low != "full" && high != "full" && low[len(low)-1] == high[len(high)-1] && low != "0" {
		low, high = low[:len(low)-1], high[:len(high)-1]
	}
	return " (" + low + d.Appearance.Glyphs.EnDash + high + ")"
}

// reachable returns the maximum that a process could use beside the other processes on its GPU or instance.
func reachable(gpu *snapshot.GPU, p *snapshot.Process) snapshot.Bytes {
	memory := gpu.MemoryOf(p.ID.Instance)
	capacity, ok := memory.Capacity().Value()
	if !ok {
		return snapshot.Bytes{}
	}
	all, known := memory.Used.Value()
	own, ownKnown := p.Used.Value()
	if others := all - own; known && ownKnown && others > 0 && capacity-others >= own {
		capacity -= others
	}
	return quantity.From(capacity, quantity.Computed)
}
