package segments

import (
	"strconv"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Panel draws the map of a process's segments:
//
//	── 812 segments, 2s ago ────────────────────────────── r: again   v: graph ──
//	 F frees 11.8G: 41 segments have no live block.
//	 4.60G more is fragmented: 212 segments also have live blocks (2.80G).
//	 alloc        ×559 50.1G  ███████████████████████████████████████████████
//	 frag         ×212 7.40G  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒█▒▒▒▒▒▒▒▒▒▒▒██▒▒▒▒▒█████
//	 cached        ×41 11.8G  ░░░░░░░░░░░░░░░
//	 █ alloc 52.7G  ▅ pending 215M  ▒ frag 4.60G  ░ cached 11.8G      cell = 128M
type Panel struct {
	Appearance *cell.Appearance
	Now        cell.Moment
	PyTorch    bool // PyTorch's own allocator is in use
	View
}

// View is a map and its state. The zero View waits for its first map.
type View struct {
	Map     *Map   // nil while the probe has reported none
	Asking  bool   // the probe has been asked and has not answered yet
	Refusal string // why there is no map
}

// Render returns exactly height lines of exactly width cells.
func (p Panel) Render(width, height int) []string {
	if width <= 0 || height <= 0 {
		return cell.Blank(max(width, 0), height)
	}
	m := p.Map
	if m == nil {
		lines := []string{p.title(width)}
		for _, text := range p.waiting(max(width-2, 1)) {
			lines = append(lines, cell.Indented(p.Appearance, width, text...))
		}
		return cell.Fill(lines, width, height)
	}
	const minRows = 3
	room := max(height-2, 0) // without title and legend
	answer := p.answer(m, max(width-2, 1), height)
	body := max(room-len(answer), min(room, minRows)) // the rows for the strips
	answer = answer[:min(len(answer), room-body)]
	rows, unit := p.strips(width, body)
	lines := []string{p.title(width)}
	for _, text := range answer {
		lines = append(lines, cell.Indented(p.Appearance, width, text...))
	}
	lines = cell.Fill(append(lines, rows[:min(body, len(rows))]...), width, max(height-1, 1))
	if height > 1 && m.count > 0 {
		lines = append(lines, p.legend(width, unit))
	}
	return cell.Fill(lines, width, height)
}

// title returns the number of segments and the age of the map.
func (p Panel) title(width int) string {
	s := &p.Appearance.Styles
	title := "segments"
	if m := p.Map; m != nil {
		title = text.Plural(m.count, "segment", "segments")
		if m.left > 0 {
			title += " of " + strconv.Itoa(m.count+m.left)
		}
		if ago := p.Now.Since(m.taken); ago > 0 {
			title += ", " + quantity.Duration(ago) + " ago"
		} else {
			title += ", now"
		}
	}
	right := []cell.Span{{s.Key, "r"}, {s.Dim, ": again   "}, {s.Key, "v"}, {s.Dim, ": graph"}}
	if p.Asking {
		right = append([]cell.Span{{s.Dim, "asking   "}}, right[2:]...)
	}
	return cell.TitledRule(p.Appearance, width, title, s.Title, right)
}

// legend returns the last line: the states with their sums, and the scale.
func (p Panel) legend(width int, unit quantity.Bytes) string {
	s := &p.Appearance.Styles
	m := p.Map
	l := cell.NewLine(width)
	l.Skip(1)
	scale := "cell = " + unit.String()
	for i, state := range []struct {
		state snapshot.BlockState
		name  string
	}{{snapshot.BlockLive, "alloc"}, {snapshot.BlockPending, "pending"}, {snapshot.BlockFragmented, "frag"}, {snapshot.BlockCached, "cached"}} {
		sum := m.sums[state.state]
		if sum == 0 && state.state == snapshot.BlockPending {
			continue
		}
		style, glyph := p.ink(state.state)
		words := " " + state.name + " " + sum.String()
		if i > 0 {
			l.Skip(2)
		}
		if l.Used()+1+text.Width(words) > width {
			break
		}
		l.Put(style, glyph)
		l.Put(s.Text, words)
	}
	if left := width - 1 - text.Width(scale); left >= l.Used()+2 && unit > 0 {
		l.To(left)
		l.Put(s.Dim, scale)
	}
	return l.String()
}
