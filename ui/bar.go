package ui

import (
	"slices"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
)

// A bar is memory to scale: its cells are the capacity, and its parts stand
// in the order of how hard they are to get back: other, unknown, allocated,
// stuck, returnable, free.
//
// Boundaries are rounded, not lengths: the boundary after a part is the sum
// of all parts up to it, so each moves at most one cell a step, and the used
// part is as long as used alone would be. A part under half a cell is left to
// the numbers.

// barParts are the amounts of a bar, zero where a part is not known.
type barParts [5]quantity.Bytes

// partsOf takes a GPU's parts; where nothing tells them but used is known,
// all of it is unknown.
func partsOf(parts snapshot.Parts, used snapshot.Bytes) barParts {
	b := barParts{
		parts.Other.Or(0), parts.Unknown.Or(0), parts.Allocated.Or(0), parts.Fragmented.Or(0), parts.Returnable.Or(0),
	}
	var known quantity.Bytes
	for _, part := range b {
		known += part
	}
	// What the driver says is used and no part explains is unknown too: the
	// bar must not show it as free.
	if rest := used.Or(0) - known; rest > 0 {
		b[1] += rest
	}
	return b
}

// processParts are the parts of one process.
func processParts(p *snapshot.Process) barParts {
	if !p.Allocated.Known() {
		return barParts{1: p.Used.Or(0)}
	}
	return partsOf(snapshot.Parts{
		Other: p.Other, Allocated: p.Allocated, Fragmented: p.Unreturnable(), Returnable: p.Returnable,
	}, p.Used)
}

// bar writes the parts on a scale of capacity into so many cells.
func (l *line) bar(lk *look, parts barParts, capacity quantity.Bytes, cells int) {
	parts.draw(lk, capacity, cells, func(style themes.Style, glyph string, n int) { l.repeat(style, glyph, n) })
}

// spans is the bar as text, for a dialog's lines.
func (b barParts) spans(lk *look, capacity quantity.Bytes, cells int) []span {
	var out []span
	b.draw(lk, capacity, cells, func(style themes.Style, glyph string, n int) {
		out = append(out, span{style, strings.Repeat(glyph, n)})
	})
	return out
}

// draw hands out the runs of one glyph that make the bar.
func (b barParts) draw(lk *look, capacity quantity.Bytes, cells int, run func(style themes.Style, glyph string, n int)) {
	s, g := &lk.styles, &lk.glyphs
	inks := [...]struct {
		style *themes.Style
		glyph string
	}{
		{&s.Other, g.other}, {&s.Unknown, g.unknown}, {&s.Allocated, g.allocated}, {&s.Fragmented, g.stuck}, {&s.Returnable, g.returnable},
	}
	drawn, sum := 0, 0.0
	for i, part := range b {
		sum += float64(max(part, 0))
		end := boundary(sum, capacity, cells)
		if end > drawn {
			run(*inks[i].style, inks[i].glyph, end-drawn)
			drawn = end
		}
	}
	if drawn < cells {
		run(s.Free, g.free, cells-drawn)
	}
}

// boundary is the cell that ends after so many bytes.
func boundary(bytes float64, capacity quantity.Bytes, cells int) int {
	if capacity <= 0 || cells <= 0 {
		return 0
	}
	at := bytes / float64(capacity) * float64(cells)
	return int(min(max(at+0.5, 0), float64(cells)))
}

// migBar cuts the bar into its instances, each as long as it is big, with a
// border after each. What follows the last is memory no instance owns: it is
// blank, because no process can have it.
func (l *line) migBar(lk *look, gpu *snapshot.GPU, cells int) {
	start := l.used
	inner := cells - len(gpu.Instances)
	capacity := gpu.Memory.Capacity().Or(0)
	if inner < len(gpu.Instances) {
		l.bar(lk, partsOf(gpu.Parts, gpu.Memory.Used), capacity, cells)
		return
	}
	drawn, sum := 0, 0.0
	for i := range gpu.Instances {
		instance := &gpu.Instances[i]
		size := instance.Memory.Capacity().Or(0)
		sum += float64(size)
		end := boundary(sum, capacity, inner)
		if instance.Memory.Used.Known() {
			l.bar(lk, partsOf(instance.Parts, instance.Memory.Used), size, end-drawn)
		} else {
			l.repeat(lk.styles.Rule, lk.glyphs.rule, end-drawn)
		}
		l.repeat(lk.styles.Rule, lk.glyphs.migBorder, 1)
		drawn = end
	}
	l.to(start + cells)
}

// instanceBar is a bar as long as its instance is big, beside the others of
// its GPU.
func (l *line) instanceBar(lk *look, gpu *snapshot.GPU, instance *snapshot.Instance, cells int) {
	start := l.used
	size := instance.Memory.Capacity().Or(0)
	own := max(boundary(float64(size), gpu.Memory.Capacity().Or(size), cells), 1)
	if instance.Memory.Used.Known() {
		l.bar(lk, partsOf(instance.Parts, instance.Memory.Used), size, own)
	} else {
		l.repeat(lk.styles.Rule, lk.glyphs.rule, own)
	}
	l.to(start + cells)
}

// barWords is the bar of a GPU that has nothing to measure: a rule with
// words, the first of the wordings that leaves enough of the rule. An empty
// bar would mean that all of it is free.
func (l *line) barWords(lk *look, wordings []string, cells int) {
	const leastRule = 5
	words := wordings[len(wordings)-1]
	if i := slices.IndexFunc(wordings, func(w string) bool { return cells-len(w)-2 >= leastRule }); i >= 0 {
		words = wordings[i]
	}
	words = cut(words, cells-2, lk.glyphs.ellipsis)
	rule := max(cells-len(words)-2, 0)
	l.repeat(lk.styles.Rule, lk.glyphs.rule, rule/2)
	l.skip(1)
	l.put(lk.styles.Warning, words)
	l.skip(1)
	l.repeat(lk.styles.Rule, lk.glyphs.rule, rule-rule/2)
}
