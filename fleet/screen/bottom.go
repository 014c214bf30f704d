package screen

import (
	"fmt"
	"slices"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/gpus"
)

// words writes the line above the keys: a question, the box that is being opened, a message, why there
// are no newer figures, a problem, or the legend if it is not among the titles.
func (m *model) words(l *cell.Line, legend bool) {
	s, g := &m.look.Styles, &m.look.Glyphs
	l.Skip(1)
	put := func(words string) { l.Put(s.Warning, text.Cut(g.Words(words), m.width-2, g.Ellipsis)) }
	switch p := m.view.Picture; {
	case m.question != nil:
		put(m.question.text)
	case m.opening != nil:
		put(m.opening.words(m.Now(), g.Ellipsis))
	case m.message != "" && m.Now().Before(m.until):
		put(m.message)
	case m.view.Err != nil && p != nil && !slices.Equal(m.view.Query.Filter, m.Place.Filter):
		put(fmt.Sprintf("! %s; the lines are not of this filter", m.view.Err))
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
	case !legend:
		gpus.WriteLegend(l, &m.look, m.width-2)
	}
}

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

func (m *model) age() string { return quantity.Duration(m.Now().Sub(m.view.Answered)) }

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
			name, hint = "Tab", m.unit().Next().Word()
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

// status returns the range of visible lines, the order, and the age of the figures.
func (m *model) status() string {
	var words []string
	if n := len(m.lines()); n > 0 {
		more := ""
		if n >= m.wanted() {
			more = "+" // the source may have more
		}
		words = append(words, fmt.Sprintf("%d-%d of %d%s", m.Place.top+1, min(m.Place.top+m.rows(), n), n, more))
	}
	words = append(words, m.Place.Sort.Word())
	switch {
	case m.view.Picture == nil:
	case !m.view.Asked.IsZero() && m.Now().Sub(m.view.Asked).Seconds() >= 2:
		words = append(words, "asking for "+quantity.Duration(m.Now().Sub(m.view.Asked)))
	case !m.answered():
		words = append(words, "asking"+m.look.Glyphs.Ellipsis)
	default:
		words = append(words, m.age()+" old")
	}
	return strings.Join(words, "  ")
}
