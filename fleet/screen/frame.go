package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramscope/fleet"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/gpus"
)

// The lines of the screen beside those of the fleet:
//
//	vramscope fleet  http://prometheus:9090  1000 boxes  7965 GPUs  2 down   12:04:17
//	ALL ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇·········· 336/619T  cached 28.6T
//	BOX       GPU ■other ■unknown …              USED/TOTAL UTIL TEMP   NOTE
//	…
//	a problem, a message, or the legend
//	? help  q quit  Enter open  o ssh …                        1-19 of 62  worst  4s
const above, around = 3, 5

// rows is how many lines of the fleet there is room for.
func (m *model) rows() int { return max(m.height-around, 0) }

// Smaller than this there is no screen.
const leastWidth, leastHeight = 40, 6

// frame is the whole screen.
func (m *model) frame() string {
	if m.width < leastWidth || m.height < leastHeight {
		return strings.Join(cell.Fill([]string{text.Cut(fmt.Sprintf("vramscope fleet needs %d×%d", leastWidth, leastHeight), max(m.width, 0), "")}, m.width, m.height), "\n")
	}
	l := cell.NewLine(m.width)
	out := make([]string, 0, m.height)
	add := func(write func(*cell.Line)) {
		l.Reset(m.width)
		write(l)
		out = append(out, l.String())
	}
	add(m.header)
	add(m.totals)
	if m.help {
		out = append(out, m.helpLines(m.rows()+1)...)
	} else {
		c := m.columns()
		add(func(l *cell.Line) { m.titles(l, c) })
		lines, at := m.lines(), m.cursor()
		for row := range m.rows() {
			switch i := m.place.top + row; {
			case i < len(lines):
				add(func(l *cell.Line) { m.writeLine(l, &lines[i], c, i == at) })
			case row == 0:
				add(m.nothing)
			default:
				add(func(*cell.Line) {})
			}
		}
	}
	add(m.words)
	switch {
	case m.prompt != nil:
		out = append(out, m.prompt.Render(m.width, 1)...)
	case m.question != nil:
		add(func(l *cell.Line) {
			s := &m.look.Styles
			l.Skip(1)
			l.PutSpans([]cell.Span{{s.Key, "y"}, {s.Dim, " yes  "}, {s.Key, "Esc"}, {s.Dim, " no, as any other key"}}, m.width-1, "")
		})
	default:
		add(m.keys)
	}
	return strings.Join(out, "\n")
}

// header writes the first line.
func (m *model) header(l *cell.Line) {
	s := &m.look.Styles
	l.Skip(1)
	l.Put(s.Strong, "vramscope fleet")
	clock := m.now().Format("15:04:05")
	if p := m.view.Picture; p != nil && p.Simulated {
		l.Skip(2)
		l.Put(s.Badge, "SIMULATED")
	}
	var items []cell.Span
	if t := m.view.Totals; t != nil {
		if n, ok := t.Boxes.Value(); ok {
			items = append(items, cell.Span{s.Text, text.Plural(n, "box", "boxes")})
		}
		if n, ok := t.GPUs.Value(); ok {
			items = append(items, cell.Span{s.Text, text.Plural(n, "GPU", "GPUs")})
		}
		if n := t.Down.Or(0); n > 0 {
			items = append(items, cell.Span{s.Warning, strconv.Itoa(n) + " down"})
		}
	}
	if f := m.place.Filter.String(); f != "" {
		items = append(items, cell.Span{s.Badge, "filter: " + m.look.Glyphs.Words(f)})
	}
	items = append(items, cell.Span{s.Dim, m.look.Glyphs.Words(m.name)})
	for _, item := range items {
		if l.Used()+2+text.Width(item.Text)+2+len(clock)+1 > m.width {
			continue
		}
		l.Skip(2)
		l.Put(item.Style, item.Text)
	}
	l.To(m.width - len(clock) - 1)
	l.Put(s.Text, clock)
}

// totals writes the sum of the fleet as one bar.
func (m *model) totals(l *cell.Line) {
	s, g := &m.look.Styles, &m.look.Glyphs
	t := m.view.Totals
	l.Skip(1)
	l.Put(s.Header, "ALL ")
	if t == nil || !t.Memory.Used.Known() {
		words := "asking" + g.Ellipsis
		if m.view.Err != nil || t != nil {
			words = "unknown"
		}
		l.Put(s.Dim, words)
		return
	}
	figures := fmt.Sprintf("%s of %s used", t.Memory.Used.Or(0), t.Memory.Capacity().Or(0))
	add := func(b snapshot.Bytes, word string) {
		if n, ok := b.Value(); ok && len(figures)+len(word)+8 <= m.width/2 {
			figures += fmt.Sprintf(", %s %s", n, word)
		}
	}
	add(t.Memory.Free, "free")
	add(t.Parts.Returnable, "cached")
	bar := m.width - l.Used() - text.Width(figures) - 3
	l.Bar(&m.look, cell.PartsOf(t.Parts, t.Memory.Used), t.Memory.Capacity().Or(0), bar)
	l.Skip(2)
	l.Put(s.Text, figures)
}

// nothing says why there is no line.
func (m *model) nothing(l *cell.Line) {
	s := &m.look.Styles
	l.Skip(1)
	switch {
	case m.view.Picture == nil && m.view.Err != nil:
		l.Put(s.Warning, text.Cut(m.look.Glyphs.Words(m.view.Err.Error()), m.width-2, m.look.Glyphs.Ellipsis))
	case m.view.Picture == nil:
		l.Put(s.Dim, "asking "+m.look.Glyphs.Words(m.name)+m.look.Glyphs.Ellipsis)
	case len(m.view.Query.Filter) > 0:
		l.Put(s.Dim, "nothing matches the filter: Esc clears it")
	default:
		l.Put(s.Dim, "no GPU")
	}
}

// words writes the line above the keys: a question, the prompt, a message, why there is
// nothing newer, a problem, or the legend.
func (m *model) words(l *cell.Line) {
	s, g := &m.look.Styles, &m.look.Glyphs
	l.Skip(1)
	put := func(words string) { l.Put(s.Warning, text.Cut(g.Words(words), m.width-2, g.Ellipsis)) }
	switch p := m.view.Picture; {
	case m.question != nil:
		put(m.question.text)
	case m.opening != nil:
		put(m.opening.words(m.now(), g.Ellipsis))
	case m.message != "" && m.now().Before(m.until):
		put(m.message)
	case m.view.Err != nil && p != nil:
		put(fmt.Sprintf("! %s; the figures are %s old", m.view.Err, m.age()))
	case m.view.Err != nil:
		put("! nothing has answered yet, asking again")
	case len(m.problems()) > 0:
		all := m.problems()
		at, place := m.problem%len(all), ""
		if len(all) > 1 {
			place = fmt.Sprintf("  %d of %d, ! next", at+1, len(all))
		}
		l.Put(s.Warning, text.Cut("! "+g.Words(all[at]), m.width-2-len(place), g.Ellipsis))
		l.Put(s.Dim, place)
	case m.width < gpus.LegendWidth:
		gpus.WriteLegend(l, &m.look, m.width-2)
	}
}

// problems are those of lines and of totals.
func (m *model) problems() []string {
	var all []string
	if m.view.Picture != nil {
		all = append(all, m.view.Picture.Problems...)
	}
	if m.view.Totals != nil {
		all = append(all, m.view.Totals.Problems...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// age is how old the figures are.
func (m *model) age() string { return quantity.Duration(m.now().Sub(m.view.Answered)) }

// keys writes the last line.
func (m *model) keys(l *cell.Line) {
	s := &m.look.Styles
	l.Skip(1)
	status := m.status()
	for _, b := range bindings {
		if b.hint == "" || l.Used()+2+len(b.names[0])+1+len(b.hint)+2+text.Width(status) >= m.width {
			continue
		}
		name, hint := b.names[0], b.hint
		switch hint {
		case "open":
			name = "Enter"
		case "boxes":
			name = "Tab"
			if p := m.view.Picture; p != nil && p.Unit == fleet.Boxes {
				hint = "GPUs"
			}
		}
		if l.Used() > 1 {
			l.Skip(2)
		}
		l.Put(s.Key, name)
		l.Put(s.Dim, " "+hint)
	}
	l.To(m.width - text.Width(status) - 1)
	l.Put(s.Dim, status)
}

// status is the place in the lines, the order, and how old the figures are.
func (m *model) status() string {
	var words []string
	if n := len(m.lines()); n > 0 {
		more := ""
		if n >= m.wanted() {
			more = "+" // the source may have more
		}
		words = append(words, fmt.Sprintf("%d-%d of %d%s", m.place.top+1, min(m.place.top+m.rows(), n), n, more))
	}
	words = append(words, m.place.Sort.Word())
	switch {
	case m.view.Picture == nil:
	case !m.view.Asked.IsZero() && m.now().Sub(m.view.Asked).Seconds() >= 2:
		words = append(words, "asking for "+quantity.Duration(m.now().Sub(m.view.Asked)))
	default:
		words = append(words, m.age()+" old")
	}
	return strings.Join(words, "  ")
}

// helpLines are the keys and marks.
func (m *model) helpLines(height int) []string {
	s := &m.look.Styles
	l := cell.NewLine(m.width)
	var out []string
	add := func(keys, does string) {
		l.Reset(m.width)
		l.Skip(2)
		l.Left(s.Key, m.look.Glyphs.Words(keys), 11, "")
		l.Put(s.Text, text.Cut(does, m.width-14, m.look.Glyphs.Ellipsis))
		out = append(out, l.String())
	}
	for _, b := range bindings {
		keys := b.shown
		if keys == "" {
			continue
		}
		if m.look.Glyphs.ASCII {
			keys = strings.NewReplacer("↑", "Up", "↓", "Dn").Replace(keys)
		}
		add(keys, b.does)
	}
	add("", "")
	add("worst", "urgent alerts, down boxes, lost GPUs, other alerts, the fullest")
	add("state=", "down, lost, alert, full or idle")
	add("FLUSH", "cached memory that a flush frees; "+m.look.Glyphs.Words("– is unknown"))
	add("NOTE", "the worst alert, else who has most of the GPU's memory")
	add("4s old", "since the last answer; it is asked again every "+m.every)
	return cell.Fill(out[:min(len(out), height)], m.width, height)
}

// urgent reports whether a line's alert calls for action.
func urgent(l *fleet.Line) bool { return l.Alert != "" && l.Severity == snapshot.Urgent }
