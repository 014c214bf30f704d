package segments

import (
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

func (p Panel) waiting(cells int) [][]cell.Span {
	s := &p.Appearance.Styles
	style, text := s.Dim, "asking its probe for a map of its memory"
	if p.Refusal != "" {
		style, text = s.Warning, p.Refusal
	}
	const maxLines = 6
	return p.Appearance.Paragraph(cell.Span{}, style, text, cells, maxLines)
}

// answer returns what a flush frees, and why not more.
func (p Panel) answer(m *Map, cells, height int) [][]cell.Span {
	s := &p.Appearance.Styles
	var lines [][]cell.Span
	say := func(strong, text string) {
		const maxLines = 3
		for i, part := range cell.Wrap(strong+text, cells, maxLines, p.Appearance.Glyphs.Ellipsis) {
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
	say(p.frees(m))
	if fragmented := m.ofFate(fateFragmented); fragmented != nil {
		say(keeps(m, fragmented))
	}
	if private := m.ofFate(fatePrivate); private != nil {
		free := private.sums[snapshot.BlockCached] + private.sums[snapshot.BlockFragmented]
		say(free.String()+" is kept for CUDA graphs", ": private pools free nothing while their graphs exist.")
	}
	// A flush frees the pages of expandable segments one by one.
	// Source: https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
	wouldHelp := p.PyTorch && !m.expanded && m.sums[snapshot.BlockFragmented] >= m.sums.total()/10
	if height >= adviceHeight && wouldHelp {
		say("", "Started with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, a flush could free single pages.")
	}
	if m.left > 0 {
		say("", "The "+strconv.Itoa(m.left)+" smallest segments were not reported.")
	}
	return lines
}

// adviceHeight is the least height with room for advice.
const adviceHeight = 16

// frees returns what a flush frees, and why.
func (p Panel) frees(m *Map) (strong, why string) {
	cached := m.sums[snapshot.BlockCached]
	if private := m.ofFate(fatePrivate); private != nil {
		cached -= private.sums[snapshot.BlockCached]
	}
	verb := "A flush frees "
	if p.Appearance.Keys.Has(keys.Flush) {
		verb = "F frees "
	}
	count, whole := 0, quantity.Bytes(0) // the segments that are all free, and their memory
	if free := m.ofFate(fateCached); free != nil {
		count, whole = len(free.segments), free.sums.total()
	}
	switch {
	case cached <= 0:
		return verb + "nothing", ": each segment has a live block."
	case whole >= cached:
		return verb + cached.String(), ": " + text.Plural(count, "segment", "segments") + map[bool]string{true: " has", false: " have"}[count == 1] + " no live block."
	case count == 0:
		return verb + cached.String(), ": whole pages of expandable segments."
	default:
		return verb + cached.String(), ": " + text.Plural(count, "segment", "segments") + " without a live block, and whole pages of expandable ones."
	}
}

// keeps returns what no flush frees, and why.
func keeps(m *Map, fragmented *band) (strong, why string) {
	free, held := fragmented.sums[snapshot.BlockFragmented], fragmented.sums.held()
	count := len(fragmented.segments)
	live := " also have live blocks"
	if count == 1 {
		live = " also has live blocks"
	}
	why = ": " + text.Plural(count, "segment", "segments") + live + " (" + held.String() + ")."
	if m.keepers < count && m.keptFor < m.kept {
		why += " " + m.kept.String() + " of it is in " + strconv.Itoa(m.keepers) + ", kept there by just " + m.keptFor.String() + "."
	}
	return free.String() + " more is fragmented", why
}
