package ui

import (
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
)

// segmentPanel is the map of a process's segments:
//
//	── 812 segments, 2s ago ─────────────────────────────── v: graph  r: again ──
//	 F returns 11.8G: 41 segments have no live block.
//	 4.60G more is free and stays: 212 segments also have live blocks, 7.00G …
//	 in use    559  50.1G  ██████████████████████████████████████████████████
//	 stuck     212  7.40G  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒█▒▒▒▒▒▒▒▒▒▒▒██▒▒▒▒▒█████
//	 cached     41  11.8G  ░░░░░░░░░░░░░░░
//	 █ live 52.7G  ▅ pending 215M  ▒ stuck 4.60G  ░ cached 11.8G    a cell is 128M
type segmentPanel struct {
	look     *look
	now      moment
	flushes  bool // F is there to be named
	segments *segments
}

// Render implements panel.
func (p segmentPanel) Render(width, height int) []string {
	if width <= 0 || height <= 0 {
		return blankLines(max(width, 0), height)
	}
	m := p.segments.found
	if m == nil {
		lines := []string{p.title(width, "")}
		for _, text := range p.waiting(max(width-2, 1)) {
			lines = append(lines, p.text(width, text))
		}
		return filled(lines, width, height)
	}
	answer := p.answer(m, max(width-2, 1))
	body := p.body(width, height)
	if room := height - 2 - body; len(answer) > room {
		answer = answer[:max(room, 0)]
	}
	rows, unit := p.strips(width, body)
	top := p.top(len(rows), body)
	last := min(top+body, len(rows))
	part := ""
	if len(rows) > body {
		part = strconv.Itoa(top+1) + "-" + strconv.Itoa(last) + "/" + strconv.Itoa(len(rows))
	}
	lines := []string{p.title(width, part)}
	for _, text := range answer {
		lines = append(lines, p.text(width, text...))
	}
	lines = filled(append(lines, rows[top:last]...), width, max(height-1, 1))
	if height > 1 && m.count > 0 {
		lines = append(lines, p.legend(width, unit))
	}
	return filled(lines, width, height)
}

// body is how many rows the strips have: what the answer leaves, but it is
// shortened rather than that nothing is seen.
func (p segmentPanel) body(width, height int) int {
	const least = 3
	rows := height - 2 // title and legend
	if p.segments.found == nil {
		return max(rows, 0)
	}
	return max(rows-len(p.answer(p.segments.found, max(width-2, 1))), min(rows, least), 0)
}

// scrolled is where the strips stand after moving by so many rows.
func (p segmentPanel) scrolled(by, width, height int) int {
	body := p.body(width, height)
	rows, _ := p.strips(width, body)
	return min(max(p.top(len(rows), body)+by, 0), max(len(rows)-body, 0))
}

// top is the first of so many rows in view.
func (p segmentPanel) top(rows, body int) int { return min(max(p.segments.top, 0), max(rows-body, 0)) }

func (p segmentPanel) text(width int, spans ...span) string {
	l := newLine(width)
	l.skip(1)
	put(l, spans, width, p.look.glyphs.ellipsis)
	return l.String()
}

// title says how many segments there are and how old the map is; part is which
// of its rows are in view, where not all are.
func (p segmentPanel) title(width int, part string) string {
	s := &p.look.styles
	text := "segments"
	if m := p.segments.found; m != nil {
		text = counted(int64(m.count), "segment")
		if m.left > 0 {
			text += " of " + strconv.Itoa(m.count+m.left)
		}
		if ago := p.now.since(m.taken); ago > 0 {
			text += ", " + duration(ago) + " ago"
		} else {
			text += ", now"
		}
	}
	right := []span{{s.Key, "r"}, {s.Dim, ": again   "}, {s.Key, "v"}, {s.Dim, ": graph"}}
	if part != "" && !p.segments.asking {
		right = append([]span{{s.Key, "PgDn"}, {s.Dim, " " + part + "   "}}, right...)
	}
	if p.segments.asking {
		right = append([]span{{s.Dim, "asking   "}}, right[2:]...)
	}
	return titledRule(p.look, width, text, s.Title, right)
}

// waiting is what stands where there is no map.
func (p segmentPanel) waiting(cells int) []span {
	s := &p.look.styles
	style, text := s.Dim, "asking its probe where its memory lies"
	if p.segments.refusal != "" {
		style, text = s.Warning, p.segments.refusal
	}
	var lines []span
	const most = 6
	for _, part := range wrapped(text, cells, most, p.look.glyphs.ellipsis) {
		lines = append(lines, span{style, part})
	}
	return lines
}

// answer says what a flush returns, and why not more.
func (p segmentPanel) answer(m *segmentMap, cells int) [][]span {
	s := &p.look.styles
	var lines [][]span
	say := func(strong, text string) {
		const most = 3
		for i, part := range wrapped(strong+text, cells, most, p.look.glyphs.ellipsis) {
			if rest, ok := strings.CutPrefix(part, strong); ok && i == 0 {
				lines = append(lines, []span{{s.Strong, strong}, {s.Text, rest}})
				continue
			}
			lines = append(lines, []span{{s.Text, part}})
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
		free := private.sums[snapshot.BlockCached] + private.sums[snapshot.BlockStuck]
		say(free.String()+" is kept for CUDA graphs", ": private pools give nothing back while their graphs live.")
	}
	if m.left > 0 {
		say("", "The "+strconv.Itoa(m.left)+" smallest segments were not told.")
	}
	return lines
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
	free, held := stuck.sums[snapshot.BlockStuck], stuck.sums.held()
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

// The cells before a strip: fate, sizes, how many, how much.
const (
	fateCells  = 7
	countCells = 6
)

// strips draws the bands, so that they fill so many rows or, zoomed in, more.
func (p segmentPanel) strips(width, body int) ([]string, quantity.Bytes) {
	m := p.segments.found
	bands, sized := m.bands(body)
	if width < fullWidth { // no room to say which sizes they are
		bands, sized = m.byFate, false
	}
	left := 1 + fateCells + 1 + countCells + 1 + partBytes + 2
	if sized {
		left += partBytes + 1
	}
	named := width-left-1 >= 2*left/3
	if !named {
		left = 1
	}
	strip := max(width-left-1, 1)
	unit := unitFor(bands, strip, max(body, 1), p.segments.zoom)
	top := p.top(rowsOf(bands, unit, strip), body)
	var rows []string
	spare := body - rowsOf(bands, unit, strip)
	apart := spare >= len(m.byFate)-1
	for i := range bands {
		b := &bands[i]
		cells := b.cells(unit, strip)
		if apart && i > 0 && bands[i-1].fate != b.fate {
			rows = append(rows, strings.Repeat(" ", width))
		}
		for at := 0; at == 0 || at < len(cells); at += strip {
			l := newLine(width)
			first := len(rows) == top // what is in view says what it is
			if named && (at == 0 || first) {
				p.label(l, b, first || i == 0 || bands[i-1].fate != b.fate, sized)
			}
			l.to(left)
			p.strip(l, cells[min(at, len(cells)):min(at+strip, len(cells))])
			rows = append(rows, l.String())
		}
	}
	return rows, unit
}

// label is " stuck    20.0M  ×212  7.40G  ".
func (p segmentPanel) label(l *line, b *segmentBand, first, sized bool) {
	s := &p.look.styles
	l.skip(1)
	name := ""
	if first {
		name = b.fate.String()
	}
	l.left(p.fateStyle(b.fate), name, fateCells, "")
	l.skip(1)
	if sized {
		size := b.least.String()
		if b.least != b.most {
			size = sizeClass(b.least)
		}
		l.right(s.Dim, size, partBytes)
		l.skip(1)
	}
	l.right(s.Dim, p.look.glyphs.times+strconv.Itoa(len(b.segments)), countCells)
	l.skip(1)
	l.right(s.Text, b.sums.total().String(), partBytes)
	l.skip(2)
}

// sizeClass is the lower bound of sizes of one power of two: "64M+".
func sizeClass(size quantity.Bytes) string {
	class := leastUnit
	for class*2 <= size {
		class *= 2
	}
	text := class.String()
	if i := strings.IndexByte(text, '.'); i > 0 {
		text = text[:i] + text[len(text)-1:]
	}
	return text + "+"
}

func (p segmentPanel) fateStyle(f fate) themes.Style {
	s := &p.look.styles
	switch f {
	case fateStuck, fatePrivate:
		return s.Stuck
	case fateCached:
		return s.Returnable
	default:
		return s.Allocated
	}
}

// strip writes cells.
func (p segmentPanel) strip(l *line, cells []cell) {
	for i := 0; i < len(cells); {
		end := i + 1
		for end < len(cells) && cells[end] == cells[i] {
			end++
		}
		if cells[i] == cellGap {
			l.skip(end - i)
		} else {
			style, glyph := p.ink(snapshot.BlockState(cells[i]))
			l.repeat(style, glyph, end-i)
		}
		i = end
	}
}

// ink is how a state is drawn.
func (p segmentPanel) ink(state snapshot.BlockState) (themes.Style, string) {
	s, g := &p.look.styles, &p.look.glyphs
	switch state {
	case snapshot.BlockPending:
		return s.Allocated, g.pending
	case snapshot.BlockCached:
		return s.Returnable, g.returnable
	case snapshot.BlockStuck:
		return s.Stuck, g.stuck
	default:
		return s.Allocated, g.allocated
	}
}

// legend is the last line: the states with their sums, and the scale.
func (p segmentPanel) legend(width int, unit quantity.Bytes) string {
	s := &p.look.styles
	m := p.segments.found
	l := newLine(width)
	l.skip(1)
	scale := "a cell is " + unit.String()
	for i, state := range []struct {
		state snapshot.BlockState
		name  string
	}{{snapshot.BlockLive, "live"}, {snapshot.BlockPending, "pending"}, {snapshot.BlockStuck, "stuck"}, {snapshot.BlockCached, "cached"}} {
		sum := m.sums[state.state]
		if sum == 0 && state.state == snapshot.BlockPending {
			continue
		}
		style, glyph := p.ink(state.state)
		text := " " + state.name + " " + sum.String()
		if i > 0 {
			l.skip(2)
		}
		if l.used+1+cellsOf(text) > width {
			break
		}
		l.put(style, glyph)
		l.put(s.Text, text)
	}
	if left := width - 1 - cellsOf(scale); left >= l.used+2 && unit > 0 {
		l.to(left)
		l.put(s.Dim, scale)
	}
	return l.String()
}
