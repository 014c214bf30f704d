package ui

import (
	"strconv"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
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
	pytorch  bool // its allocator is PyTorch's own
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
	answer := p.answer(m, max(width-2, 1), height)
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
	return max(rows-len(p.answer(p.segments.found, max(width-2, 1), height)), min(rows, least), 0)
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
	}{{snapshot.BlockLive, "live"}, {snapshot.BlockPending, "pending"}, {snapshot.BlockFragmented, "stuck"}, {snapshot.BlockCached, "cached"}} {
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
