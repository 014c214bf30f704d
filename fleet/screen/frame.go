package screen

import (
	"fmt"
	"strconv"
	"strings"

	"vramscope/fleet"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// The lines of the screen beside those of the fleet:
//
//	vramscope fleet  boxes  1000 boxes  7965 GPUs  2 down  http://prometheus:9090   12:04:17
//	ALL ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇··········  336T of 619T used, 283T free, 28.6T cached
//	BOX       GPU ■other ■unknown …              USED/TOTAL UTIL TEMP   NOTE
//	…
//	a problem, a message, or the legend
//	? help  q quit  Enter open  Tab GPUs  o ssh …              1-19 of 62  worst  4s old
const around = 5

func (m *model) rows() int { return max(m.height-around, 0) }

// A smaller screen shows only the least size.
const leastWidth, leastHeight = 40, 6

func (m *model) frame() []string {
	if m.width < leastWidth || m.height < leastHeight {
		return cell.Fill([]string{text.Cut(fmt.Sprintf("needs %d×%d", leastWidth, leastHeight), max(m.width, 0), "")}, m.width, m.height)
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
	legend := false
	if m.help {
		out = append(out, m.helpLines(m.rows()+1)...)
	} else {
		c := m.columns()
		add(func(l *cell.Line) { legend = m.titles(l, c) })
		lines, at := m.lines(), m.cursor()
		for row := range m.rows() {
			switch i := m.Place.top + row; {
			case i < len(lines):
				add(func(l *cell.Line) { m.writeLine(l, &lines[i], c, i == at) })
			case row == 0:
				add(m.nothing)
			default:
				add(func(*cell.Line) {})
			}
		}
	}
	add(func(l *cell.Line) { m.words(l, legend) })
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
	return out
}

func (m *model) header(l *cell.Line) {
	s := &m.look.Styles
	l.Skip(1)
	l.Put(s.Strong, "vramscope fleet")
	clock := m.Now().Format("15:04:05")
	if p := m.view.Picture; p != nil && p.Simulated {
		l.Skip(2)
		l.Put(s.Badge, "SIMULATED")
	}
	var items []cell.Span
	if word := m.unit().Word(); word != "" {
		items = append(items, cell.Span{s.Key, word})
	}
	if t := m.view.Totals; t != nil {
		if n, ok := t.Boxes.Value(); ok {
			items = append(items, cell.Span{s.Text, text.Plural(n, "box", "boxes")})
		}
		if n, ok := t.GPUs.Value(); ok {
			items = append(items, cell.Span{s.Text, text.Plural(n, "GPU", "GPUs")})
		}
		if n := m.down(t); n > 0 {
			items = append(items, cell.Span{s.Warning, strconv.Itoa(n) + " down"})
		}
	}
	if f := m.Place.Filter.String(); f != "" {
		items = append(items, cell.Span{s.Badge, "filter: " + m.look.Glyphs.Words(f)})
	}
	if p := m.view.Picture; p != nil && p.Queries == fleet.Raw {
		items = append(items, cell.Span{s.Dim, "raw queries"})
	}
	items = append(items, cell.Span{s.Dim, m.look.Glyphs.Words(m.Name)})
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

// down returns how many boxes do not answer. The picture shows this earlier than the totals.
func (m *model) down(t *fleet.Totals) int {
	if p := m.view.Picture; p != nil && p.Down.Known() {
		return p.Down.Or(0)
	}
	return t.Down.Or(0)
}

func (m *model) totals(l *cell.Line) {
	s, g := &m.look.Styles, &m.look.Glyphs
	t := m.view.Totals
	l.Skip(1)
	label := "ALL "
	if t != nil && t.Own {
		label = "OWN "
	}
	l.Put(s.Header, label)
	if t == nil || !t.Memory.Used.Known() {
		words := "asking" + g.Ellipsis
		if m.view.Err != nil || t != nil {
			words = "unknown"
		}
		l.Put(s.Dim, words)
		return
	}
	figures := fmt.Sprintf("%s of %s used", t.Memory.Used.Or(0), t.Memory.Total.Or(0))
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

func (m *model) nothing(l *cell.Line) {
	s := &m.look.Styles
	l.Skip(1)
	switch {
	case m.view.Picture == nil && m.view.Err != nil:
		l.Put(s.Warning, text.Cut(m.look.Glyphs.Words(m.view.Err.Error()), m.width-2, m.look.Glyphs.Ellipsis))
	case m.view.Picture == nil:
		l.Put(s.Dim, "asking "+m.look.Glyphs.Words(m.Name)+m.look.Glyphs.Ellipsis)
	case len(m.view.Query.Filter) > 0:
		l.Put(s.Dim, "nothing matches the filter   Esc: all")
	default:
		l.Put(s.Dim, "no GPU")
	}
}

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
	add("worst", "out of memory, full soon, lost, idle with memory, other alerts")
	add("OWN", "what the processes of the filter's user or job have")
	add("raw", "the engine lacks contrib/prometheus/rules.yml: slower")
	add("state=", "down, lost, alert, full or idle")
	add("FLUSH", "cached memory that a flush frees; "+m.look.Glyphs.Words("– is unknown"))
	add("NOTE", "the worst alert, else who has most of the GPU's memory")
	add("4s old", "since the last answer; asked again every "+m.every+", ALL each third time")
	return cell.Fill(out[:min(len(out), height)], m.width, height)
}
