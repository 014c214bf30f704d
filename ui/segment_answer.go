package ui

import (
	"strconv"
	"strings"

	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// waiting is what stands where there is no map.
func (p segmentPanel) waiting(cells int) []cell.Span {
	s := &p.look.Styles
	style, text := s.Dim, "asking its probe where its memory lies"
	if p.segments.refusal != "" {
		style, text = s.Warning, p.segments.refusal
	}
	var lines []cell.Span
	const most = 6
	for _, part := range cell.Wrap(text, cells, most, p.look.Glyphs.Ellipsis) {
		lines = append(lines, cell.Span{style, part})
	}
	return lines
}

// answer says what a flush returns, and why not more.
func (p segmentPanel) answer(m *segmentMap, cells, height int) [][]cell.Span {
	s := &p.look.Styles
	var lines [][]cell.Span
	say := func(strong, text string) {
		const most = 3
		for i, part := range cell.Wrap(strong+text, cells, most, p.look.Glyphs.Ellipsis) {
			if rest, ok := strings.CutPrefix(part, strong); ok && i == 0 {
				lines = append(lines, []cell.Span{{s.Strong, strong}, {s.Text, rest}})
				continue
			}
			lines = append(lines, []cell.Span{{s.Text, part}})
		}
	}
	if m.count == 0 {
		say("", "its allocators hold no segments on this GPU")
		return lines
	}
	say(p.gives(m))
	if stuck := m.band(fateStuck); stuck != nil {
		say(stays(m, stuck))
	}
	if private := m.band(fatePrivate); private != nil {
		free := private.sums[snapshot.BlockCached] + private.sums[snapshot.BlockFragmented]
		say(free.String()+" is kept for CUDA graphs", ": private pools give nothing back while their graphs live.")
	}
	if height >= adviceHeight && p.pytorch && m.wouldExpand() {
		say("", "Started with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, it could give whole free pages back.")
	}
	if m.left > 0 {
		say("", "The "+strconv.Itoa(m.left)+" smallest segments were not told.")
	}
	return lines
}

// adviceHeight is from where on there is room to say what could be done.
const adviceHeight = 16

// wouldExpand reports whether segments of which single pages can go back would
// make a difference: a tenth of all is stuck.
// Source: https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
func (m *segmentMap) wouldExpand() bool {
	return !m.expanded && m.sums[snapshot.BlockFragmented] >= m.sums.total()/10
}

// gives is what a flush returns.
func (p segmentPanel) gives(m *segmentMap) (strong, text string) {
	cached := m.sums[snapshot.BlockCached]
	if private := m.band(fatePrivate); private != nil {
		cached -= private.sums[snapshot.BlockCached]
	}
	verb := "A flush returns "
	if p.flushes {
		verb = "F returns "
	}
	count := int64(0)
	if free := m.band(fateCached); free != nil {
		count = int64(len(free.segments))
	}
	switch {
	case cached <= 0:
		return verb + "nothing", ": each segment has a live block."
	case m.whole >= cached:
		return verb + cached.String(), ": " + counted(count, "segment") + map[bool]string{true: " has", false: " have"}[count == 1] + " no live block."
	case count == 0:
		return verb + cached.String(), ": whole pages of expandable segments."
	default:
		return verb + cached.String(), ": " + counted(count, "segment") + " without a live block, and whole pages of expandable ones."
	}
}

// stays is what no flush returns, and what it is that keeps it.
func stays(m *segmentMap, stuck *segmentBand) (strong, text string) {
	free, held := stuck.sums[snapshot.BlockFragmented], stuck.sums.held()
	count := len(stuck.segments)
	live := " also have live blocks"
	if count == 1 {
		live = " also has live blocks"
	}
	text = ": " + counted(int64(count), "segment") + live + " (" + held.String() + ")."
	if m.keepers < count && m.keptFor < m.kept {
		text += " " + m.kept.String() + " of it is in " + strconv.Itoa(m.keepers) + ", kept there by just " + m.keptFor.String() + "."
	}
	return free.String() + " more is free and stays", text
}
