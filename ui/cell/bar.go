package cell

import (
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// The cells of a bar stand for the capacity. The boundaries of its parts are rounded, not their lengths: a small
// change then moves a boundary by at most one cell. A part under one cell may be left out.

// Parts are the amounts of a bar, from the left: other, unknown, allocated, fragmented, returnable. An amount that
// is not known is 0, and free memory is the rest.
type Parts [5]quantity.Bytes

// PartsOf returns the parts for a bar. Used memory that is in no part counts as unknown.
func PartsOf(parts snapshot.Parts, used snapshot.Bytes) Parts {
	b := Parts{
		parts.Other.Or(0), parts.Unknown.Or(0), parts.Allocated.Or(0), parts.Fragmented.Or(0), parts.Returnable.Or(0),
	}
	var known quantity.Bytes
	for _, part := range b {
		known += part
	}
	if rest := used.Or(0) - known; rest > 0 {
		b[1] += rest
	}
	return b
}

func ProcessParts(p *snapshot.Process) Parts {
	if !p.Allocated.Known() {
		return Parts{1: p.Used.Or(0)}
	}
	return PartsOf(snapshot.Parts{
		Other: p.Other, Allocated: p.Kept(), Fragmented: p.Unreturnable(), Returnable: p.Returnable,
	}, p.Used)
}

// Piece is a stretch of a bar.
type Piece struct {
	Ink    Span // one glyph
	Amount quantity.Bytes
	Label  string // in the middle of the piece, if it fits
}

// Bar writes the parts into a number of cells, which stand for the capacity. After the parts it writes the pieces of the
// free memory.
func (l *Line) Bar(lk *Appearance, parts Parts, capacity quantity.Bytes, cells int, more ...Piece) {
	parts.draw(lk, capacity, cells, more, func(ink Span, label string, n int) {
		if cells := text.Width(label); label != "" && n >= cells+2 {
			l.Repeat(ink.Style, ink.Text, (n-cells)/2)
			l.Put(ink.Style, label)
			n -= cells + (n-cells)/2
		}
		l.Repeat(ink.Style, ink.Text, n)
	})
}

// MemoryBar writes the bar of a GPU. If the driver reserves memory, the last cell of a bar of 8 cells or more is a line.
func (l *Line) MemoryBar(lk *Appearance, m *snapshot.Memory, parts Parts, cells int, more ...Piece) {
	const minCells = 8
	if m.Reserved.Or(0) <= 0 || cells < minCells {
		l.Bar(lk, parts, m.Capacity().Or(0), cells, more...)
		return
	}
	l.Bar(lk, parts, m.Capacity().Or(0), cells-1, more...)
	l.Repeat(lk.Styles.Rule, lk.Glyphs.Side, 1)
}

func (b Parts) Spans(lk *Appearance, capacity quantity.Bytes, cells int) []Span {
	var out []Span
	b.draw(lk, capacity, cells, nil, func(ink Span, _ string, n int) {
		out = append(out, Span{ink.Style, strings.Repeat(ink.Text, n)})
	})
	return out
}

// draw calls run for each stretch of one glyph.
func (b Parts) draw(lk *Appearance, capacity quantity.Bytes, cells int, more []Piece, run func(ink Span, label string, n int)) {
	inks := lk.Inks()
	drawn, sum := 0, 0.0
	add := func(ink Span, label string, amount quantity.Bytes) {
		sum += float64(max(amount, 0))
		if end := Boundary(sum, capacity, cells); end > drawn {
			run(ink, label, end-drawn)
			drawn = end
		}
	}
	for i, part := range b {
		add(inks[i], "", part)
	}
	for _, piece := range more {
		add(piece.Ink, piece.Label, piece.Amount)
	}
	if drawn < cells {
		run(inks[5], "", cells-drawn)
	}
}

// Boundary returns the number of cells that an amount fills.
func Boundary(bytes float64, capacity quantity.Bytes, cells int) int {
	if capacity <= 0 || cells <= 0 {
		return 0
	}
	at := bytes / float64(capacity) * float64(cells)
	return int(min(max(at+0.5, 0), float64(cells)))
}

// MIGBar writes the bars of the instances, on the scale of the GPU and each with a border after it. Memory of no
// instance is blank: no process can have it. If there are too few cells, MIGBar writes one bar for the GPU.
func (l *Line) MIGBar(lk *Appearance, gpu *snapshot.GPU, cells int, content func(*snapshot.Instance) (Parts, []Piece)) {
	start := l.used
	inner := cells - len(gpu.Instances)
	capacity := gpu.Memory.Capacity().Or(0)
	if inner < len(gpu.Instances) {
		parts, more := content(nil)
		l.Bar(lk, parts, capacity, cells, more...)
		return
	}
	drawn, sum := 0, 0.0
	for i := range gpu.Instances {
		instance := &gpu.Instances[i]
		size := instance.Memory.Capacity().Or(0)
		sum += float64(size)
		end := Boundary(sum, capacity, inner)
		if instance.Memory.Used.Known() {
			parts, more := content(instance)
			l.Bar(lk, parts, size, end-drawn, more...)
		} else {
			l.Repeat(lk.Styles.Rule, lk.Glyphs.Rule, end-drawn)
		}
		l.Repeat(lk.Styles.Rule, lk.Glyphs.MIGBorder, 1)
		drawn = end
	}
	l.To(start + cells)
}

// InstanceBar writes the bar of an instance, on the scale of the GPU.
func (l *Line) InstanceBar(lk *Appearance, gpu *snapshot.GPU, instance *snapshot.Instance, cells int, parts Parts, more ...Piece) {
	start := l.used
	size := instance.Memory.Capacity().Or(0)
	own := max(Boundary(float64(size), gpu.Memory.Capacity().Or(size), cells), 1)
	if instance.Memory.Used.Known() {
		l.Bar(lk, parts, size, own, more...)
	} else {
		l.Repeat(lk.Styles.Rule, lk.Glyphs.Rule, own)
	}
	l.To(start + cells)
}

// BarWords writes the bar of a GPU whose used memory is unknown: a rule with the first wording that fits. An empty
// bar would mean that all memory is free.
func (l *Line) BarWords(lk *Appearance, wordings []string, cells int) {
	const minRule = 5
	words := text.Cut(Fitting(wordings, cells-2-minRule), cells-2, lk.Glyphs.Ellipsis)
	rule := max(cells-len(words)-2, 0)
	l.Repeat(lk.Styles.Rule, lk.Glyphs.Rule, rule/2)
	l.Skip(1)
	l.Put(lk.Styles.Warning, words)
	l.Skip(1)
	l.Repeat(lk.Styles.Rule, lk.Glyphs.Rule, rule-rule/2)
}
