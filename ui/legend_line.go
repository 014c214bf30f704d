package ui

import (
	"strconv"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/gpus"
	"vramscope/ui/keys"
)

// The alert line where there is no alert: how to get to know more, while
// nobody has a probe, else what the textures mean or the sums of the box.

// dayOne reports whether nobody has a probe yet and there is a way to get one.
func (st *state) dayOne(lk *cell.Appearance) bool {
	return !st.hintOff && !st.partsShown() && len(st.shown.Rows) > 0 && lk.Keys != nil && lk.Keys.Can(keys.CanRun)
}

// writeDayOne says how to learn more, in as many words as have room.
func writeDayOne(l *cell.Line, lk *cell.Appearance) {
	s := &lk.Styles
	ask, how, run := cell.Span{s.Text, "what is in it? "}, cell.Span{s.Dim, "start jobs with  "}, cell.Span{s.Key, "vramscope run -- CMD"}
	parts := []cell.Span{ask, how, run}
	if lk.Keys.Has(keys.Attach) {
		parts = append(parts, cell.Span{s.Dim, ",  or "}, cell.Span{s.Key, "a"}, cell.Span{s.Dim, " on a running Python"})
	}
	l.Skip(1)
	for _, wording := range [...][]cell.Span{parts, {ask, how, run}, {ask, run}, {run}} {
		cells := 0
		for _, part := range wording {
			cells += text.Width(part.Text)
		}
		if cells <= l.Width()-1 {
			for _, part := range wording {
				l.Put(part.Style, part.Text)
			}
			return
		}
	}
}

// writeCalm is the line of a box with nothing to say: what the textures of
// the bar mean, or where the GPU lines' header says that, the sums.
func writeCalm(l *cell.Line, st *state, lk *cell.Appearance) {
	l.Skip(1)
	if l.Width() < gpus.LegendWidth {
		gpus.WriteLegend(l, lk, l.Width()-2)
		return
	}
	for _, part := range boxSums(st.shown, &lk.Styles) {
		l.Put(part.Style, part.Text)
	}
}

// boxSums is the whole box in one sentence.
func boxSums(shown *snapshot.Snapshot, s *themes.Styles) []cell.Span {
	var used, capacity, free, returnable quantity.Bytes
	idle := 0
	returnableKnown := false
	for i := range shown.GPUs {
		gpu := &shown.GPUs[i]
		if gpu.State != snapshot.GPUOK {
			continue
		}
		used += gpu.Memory.Used.Or(0)
		capacity += gpu.Memory.Capacity().Or(0)
		free += gpu.Memory.Free.Or(0)
		if v, ok := gpu.Parts.Returnable.Value(); ok {
			returnable, returnableKnown = returnable+v, true
		}
		if u, ok := gpu.Utilization.Value(); ok && u == 0 && gpu.Memory.Used.Or(0) > quantity.GiB {
			idle++
		}
	}
	parts := []cell.Span{
		{s.Text, used.String()}, {s.Dim, " of "}, {s.Text, capacity.String()}, {s.Dim, " used   "},
		{s.Text, free.String()}, {s.Dim, " free"},
	}
	if returnableKnown {
		parts = append(parts, cell.Span{s.Dim, "   flushes would return "}, cell.Span{s.Text, returnable.String()})
	}
	if idle > 0 {
		text := " GPU holds memory and does nothing"
		if idle > 1 {
			text = " GPUs hold memory and do nothing"
		}
		parts = append(parts, cell.Span{s.Dim, "   "}, cell.Span{s.Text, strconv.Itoa(idle)}, cell.Span{s.Dim, text})
	}
	return parts
}
