package dialog

import (
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/ui/cell"
)

// picture returns the lines above the page: the verdict and one remedy, used memory in the last minutes before the
// error, and the memory of the device at the error.
//
//	A LEAK  at train.py:118 in forward, called by train.py:204 in train
//	remedy  18.8G  free what the variable outputs in train keeps, as far as it is no longer needed
//	79.6G ────────────────────────▁▂▃▄▅▆▇│
//	      ▁▁▂▃▄▅▆▇██████████████████████│
//	    0 ██████████████████████████████│
//	      -10m               23:48:57 error
//	      ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
//	■ context 1.3G  ■ others 2.3G  ■ alloc 75.9G  · free 10M
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
	lines = append(lines, w.look.Paragraph(cell.Span{s.Strong, "remedy  "}, s.Text, w.look.Glyphs.Words(remedy), width, 2)...)
	if len(e.Recent) > 1 && e.Capacity.Or(0) > 0 && width >= 30 {
		lines = append(lines, w.area(width)...)
		lines = append(lines, w.bar(width)...)
	}
	return append(lines, nil)
}

// areaRows is the height of the area in rows, areaAxis the width of its axis in cells. A pause between two samples that
// is longer than longestPause is a gap.
const (
	areaRows, areaAxis = 5, 7
	longestPause       = 20 * time.Second
)

// area draws used memory up to the error: the process's on top, all others' below.
func (w Why) area(width int) [][]cell.Span {
	s, e, inks := &w.look.Styles, w.evidence, w.look.Inks()
	columns, from, to := width-areaAxis-1, e.Recent[0].Time, e.Event.Time
	tops, others := make([]quantity.Bytes, columns), make([]quantity.Bytes, columns)
	column := func(t time.Time) int {
		return int(float64(columns) * float64(t.Sub(from)) / float64(max(to.Sub(from), 1)))
	}
	for k, sample := range e.Recent {
		at, next := column(sample.Time), to
		if k+1 < len(e.Recent) {
			next = e.Recent[k+1].Time
		}
		if next.Sub(sample.Time) > longestPause {
			next = sample.Time
		}
		for i := max(at, 0); i < min(max(column(next), at+1), columns); i++ { // a sample may fill several columns
			tops[i], others[i] = max(tops[i], sample.Used.Or(0)+sample.Others.Or(0)), max(others[i], sample.Others.Or(0))
		}
	}
	step := e.Total() / areaRows
	var lines [][]cell.Span
	for row := range areaRows {
		label := map[int]string{0: e.Total().String(), areaRows - 1: "0"}[row]
		line := []cell.Span{{s.Dim, strings.Repeat(" ", areaAxis-1-text.Width(label)) + label + " "}}
		for i := range columns {
			line = append(line, w.areaCell(inks, tops[i], others[i], step*quantity.Bytes(areaRows-1-row), step))
		}
		lines = append(lines, append(line, cell.Span{s.Leak, w.look.Glyphs.Side}))
	}
	left, right := "-"+quantity.BriefDuration(to.Sub(from).Round(time.Second)), to.Format(time.TimeOnly)+" error"
	gap := strings.Repeat(" ", max(columns+1-text.Width(left)-text.Width(right), 1))
	return append(lines, []cell.Span{{s.Dim, strings.Repeat(" ", areaAxis) + left + gap}, {s.Leak, right}})
}

// areaCell returns the cell of a column from low to low+step.
func (w Why) areaCell(inks [6]cell.Span, top, others, low, step quantity.Bytes) cell.Span {
	spark, ink := w.look.Glyphs.Spark, inks[2]
	switch eighths := int(8 * (top - low) / max(step, 1)); {
	case top <= low || eighths == 0:
		return cell.Span{w.look.Styles.Text, " "}
	case others >= low+step/2:
		ink = inks[1]
	case eighths < 8 && len(spark) >= 7:
		return cell.Span{ink.Style, spark[eighths-1]}
	}
	if w.look.Solid() {
		ink.Text = "█"
	}
	return ink
}

// bar returns the device's memory at the error, and its legend.
func (w Why) bar(width int) [][]cell.Span {
	e, inks, s := w.evidence, w.look.Swatches(), &w.look.Styles
	used, reserved, allocated := e.Used.Or(0), e.Reserved.Or(e.Process.Reserved().Or(0)), e.Allocated.Or(0)
	parts := cell.Parts{max(used-reserved, 0), max(e.Capacity.Or(0)-e.Free.Or(0)-used, 0), allocated, max(reserved-allocated, 0)}
	var legend []cell.Span
	for i, name := range [...]string{"context", "others", "alloc", "frag"} {
		if parts[i] > 0 {
			legend = append(legend, inks[i], cell.Span{s.Text, " " + name + " " + parts[i].String() + "  "})
		}
	}
	legend = append(legend, inks[5], cell.Span{s.Text, " free " + w.look.Glyphs.Bytes(e.Free)})
	drawn := append([]cell.Span{{s.Text, strings.Repeat(" ", areaAxis)}}, parts.Spans(w.look, e.Capacity.Or(0), width-areaAxis-1)...)
	if e.Driver.Or(0) > 0 {
		side := cell.Span{s.Rule, w.look.Glyphs.Side}
		drawn = append(drawn, side)
		if reserved := " driver " + e.Driver.Or(0).String(); cell.SpansWidth(legend)+3+len(reserved) <= width {
			legend = append(legend, cell.Span{s.Text, "  "}, side, cell.Span{s.Text, reserved})
		}
	}
	return [][]cell.Span{drawn, legend}
}
