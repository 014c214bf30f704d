package dialog

import (
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/ui/cell"
)

// The picture above the page: the verdict and one remedy, the memory of the last minutes up to the
// error, and what the device's memory was then.
//
//	A LEAK  at train.py:118 in forward, called by train.py:204 in train
//	remedy  18.8G  free what the variable outputs in train keeps, as far as it is no longer needed
//	79.6G ────────────────────────▁▂▃▄▅▆▇│
//	      ▁▁▂▃▄▅▆▇██████████████████████│
//	    0 ██████████████████████████████│
//	      -10m               23:48:57 error
//	      ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
//	■ context 1.3G  ■ others 2.3G  ■ its alloc 75.9G  · free 10M
func (w Why) picture(width int) [][]cell.Span {
	s, e, v := &w.look.Styles, w.evidence, &w.verdict
	about, remedy := e.Where(), v.None
	if about != "" {
		about = "at " + about
	} else if len(v.Reasons) > 0 {
		about = v.Reasons[0]
	}
	if len(v.Advice) > 0 {
		remedy = v.Advice[0].Words()
	}
	lines := [][]cell.Span{{{s.Leak, strings.ToUpper(v.Cause.Title())}, {s.Text, "  " + w.look.Glyphs.Words(about)}}}
	for i, part := range cell.Wrap(w.look.Glyphs.Words(remedy), max(width-8, 1), 2, w.look.Glyphs.Ellipsis) {
		lines = append(lines, []cell.Span{{s.Strong, [...]string{"remedy  ", "        "}[i]}, {s.Text, part}})
	}
	if len(e.Recent) > 1 && e.Capacity.Or(0) > 0 && width >= 30 {
		lines = append(lines, w.area(width)...)
		lines = append(lines, w.bar(width)...)
	}
	return append(lines, nil)
}

// areaRows is how high the picture of the last minutes is, and areaAxis how wide its axis.
const areaRows, areaAxis = 5, 7

// area is used memory: of the process on top of all others'. Its right end is the error.
func (w Why) area(width int) [][]cell.Span {
	s, g, e, inks := &w.look.Styles, &w.look.Glyphs, w.evidence, w.look.Inks()
	columns := width - areaAxis - 1
	from, to := e.Recent[0].Time, e.Event.Time
	own, others := make([]quantity.Bytes, columns), make([]quantity.Bytes, columns)
	seen := make([]bool, columns)
	for _, sample := range e.Recent {
		at := min(max(int(float64(columns)*float64(sample.Time.Sub(from))/float64(max(to.Sub(from), 1))), 0), columns-1)
		if sample.Used.Known() && sample.Others.Known() {
			seen[at], own[at], others[at] = true, max(own[at], sample.Used.Or(0)), max(others[at], sample.Others.Or(0))
		}
	}
	for i := 1; i < columns; i++ { // fewer samples than columns: each lasts until the next
		if !seen[i] && seen[i-1] {
			seen[i], own[i], others[i] = true, own[i-1], others[i-1]
		}
	}
	capacity := float64(e.Capacity.Or(0))
	var lines [][]cell.Span
	for row := range areaRows {
		label := map[int]string{0: e.Capacity.Or(0).String(), areaRows - 1: "0"}[row]
		line := []cell.Span{{s.Dim, strings.Repeat(" ", areaAxis-1-text.Width(label)) + label + " "}}
		low, high := capacity*float64(areaRows-1-row)/areaRows, capacity*float64(areaRows-row)/areaRows
		for i := range columns {
			ink, top := cell.Span{s.Text, " "}, float64(own[i]+others[i])
			switch part := (top - low) / (high - low); {
			case !seen[i] || part <= 1.0/16:
			case float64(others[i]) >= (low+high)/2:
				ink = inks[1]
			case part < 1 && len(g.Spark) > 0:
				ink = cell.Span{inks[2].Style, g.Spark[min(int(part*float64(len(g.Spark))), len(g.Spark)-1)]}
			default:
				ink = inks[2]
			}
			if w.look.Solid() && ink.Text == g.Solid {
				ink.Text = "█"
			}
			if last := &line[len(line)-1]; i > 0 && last.Style == ink.Style {
				last.Text += ink.Text
			} else {
				line = append(line, ink)
			}
		}
		lines = append(lines, append(line, cell.Span{s.Leak, g.Side}))
	}
	left, right := "-"+quantity.BriefDuration(to.Sub(from).Round(time.Second)), to.Format(time.TimeOnly)+" error"
	gap := strings.Repeat(" ", max(columns+1-text.Width(left)-text.Width(right), 1))
	return append(lines, []cell.Span{{s.Dim, strings.Repeat(" ", areaAxis) + left + gap}, {s.Leak, right}})
}

// bar is the device's memory at the error, and its legend.
func (w Why) bar(width int) [][]cell.Span {
	e, inks, s := w.evidence, w.look.Swatches(), &w.look.Styles
	used, reserved, allocated := e.Used.Or(0), e.Reserved.Or(e.Process.Reserved().Or(0)), e.Allocated.Or(0)
	all := e.Capacity.Or(0) - e.Free.Or(0)
	parts := cell.Parts{max(used-reserved, 0), max(all-used, 0), allocated, max(reserved-allocated, 0)}
	names := [...]string{"context", "others", "its alloc", "frag"}
	legend := []cell.Span{}
	for i, name := range names {
		if parts[i] > 0 {
			legend = append(legend, inks[i], cell.Span{s.Text, " " + name + " " + parts[i].String() + "  "})
		}
	}
	legend = append(legend, inks[5], cell.Span{s.Text, " free " + string(cell.AppendBytes(nil, e.Free, w.look.Glyphs.Dash))})
	indent := cell.Span{s.Text, strings.Repeat(" ", areaAxis)}
	return [][]cell.Span{
		append([]cell.Span{indent}, parts.Spans(w.look, e.Capacity.Or(0), width-areaAxis-1)...),
		legend,
	}
}
