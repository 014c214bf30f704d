package screen

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vramscope/fleet"
	"vramscope/internal/text"
)

// binding is a key, for the help and the keys line.
type binding struct {
	names []string // tea.KeyPressMsg.String
	shown string
	does  string
	hint  string // on the keys line, "" where it is not there
	act   func(*model) tea.Cmd
}

// bindings are every key, by their place in the help.
var bindings []binding

func init() { // help draws bindings and is one of them
	bindings = []binding{
		{[]string{"?", "f1"}, "? F1", "this help", "help", func(m *model) tea.Cmd { m.help = true; return nil }},
		{[]string{"q", "ctrl+c", "f10"}, "q", "quit", "quit", (*model).quit},
		{[]string{"enter"}, "Enter", "open the box", "open", (*model).open},
		{[]string{"o"}, "o", "ssh -t BOX vramscope, after a question", "ssh", (*model).askShell},
		{[]string{"/", "f", "f4", "\\"}, "/ f", "filter: a host, user or job; host= user= job= state=", "filter", (*model).askFilter},
		{[]string{"s", "f6"}, "s", "order: worst, used, free, cached, utilisation", "sort", func(m *model) tea.Cmd { return m.change(func(p *Place) { p.Sort = p.Sort.Next() }) }},
		{[]string{"tab", "b"}, "Tab b", "a line is a GPU, or a box", "boxes", (*model).toggleUnit},
		{[]string{"r"}, "r", "ask now", "", func(m *model) tea.Cmd { m.poller.Again(); return nil }},
		{[]string{"up", "k"}, "↑ k", "up", "", func(m *model) tea.Cmd { m.move(-1); return nil }},
		{[]string{"down", "j"}, "↓ j", "down", "", func(m *model) tea.Cmd { m.move(1); return nil }},
		{[]string{"pgup", "ctrl+b"}, "PgUp", "a page up", "", func(m *model) tea.Cmd { m.move(-m.rows()); return nil }},
		{[]string{"pgdown", "ctrl+f"}, "PgDn", "a page down", "", func(m *model) tea.Cmd { m.move(m.rows()); return nil }},
		{[]string{"home", "g"}, "Home g", "the first line", "", func(m *model) tea.Cmd { m.move(-len(m.lines())); return nil }},
		{[]string{"end", "G"}, "End G", "the last line", "", func(m *model) tea.Cmd { m.move(len(m.lines())); return nil }},
		{[]string{"esc"}, "Esc", "clear the filter, then the cursor", "", (*model).back},
		{[]string{"ctrl+z"}, "Ctrl+Z", "suspend", "", (*model).suspend},
	}
}

// press takes a key.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case m.question != nil:
		q := m.question
		if m.question = nil; name == "y" {
			return q.yes()
		}
		m.say("nothing was run")
		return nil
	case m.prompt != nil && name != "ctrl+c":
		return m.typed(name, msg.Text)
	case m.help && name != "ctrl+c":
		m.help = false
		return nil
	}
	for _, b := range bindings {
		if slices.Contains(b.names, name) {
			return b.act(m)
		}
	}
	return nil
}

// change asks anew, from the top.
func (m *model) change(what func(*Place)) tea.Cmd {
	what(&m.place)
	m.place.Cursor, m.place.top, m.place.lines = Key{}, 0, 0
	m.ask()
	return nil
}

func (m *model) toggleUnit() tea.Cmd {
	return m.change(func(p *Place) {
		if p.Unit = fleet.Boxes; m.view.Picture != nil && m.view.Picture.Unit == fleet.Boxes {
			p.Unit = fleet.GPUs
		}
	})
}

func (m *model) back() tea.Cmd {
	if len(m.place.Filter) > 0 {
		return m.change(func(p *Place) { p.Filter = nil })
	}
	m.place.Cursor, m.place.top = Key{}, 0
	return nil
}

// chosen is the line of the cursor, or else the first.
func (m *model) chosen() *fleet.Line {
	lines := m.lines()
	if at := m.cursor(); at >= 0 {
		return &lines[at]
	}
	if m.place.top < len(lines) {
		return &lines[m.place.top]
	}
	return nil
}

func (m *model) open() tea.Cmd {
	l := m.chosen()
	switch {
	case l == nil:
		m.say("there is no box to open")
	case l.State == fleet.Down:
		m.say(text.Clean(l.Name()) + " does not answer: " + text.Clean(l.Why))
	default:
		m.place.Cursor, m.outcome.Open = keyOf(l), l
		return m.quit()
	}
	return nil
}

// askShell asks before ssh is run. The name comes from a label, which anybody may have set.
func (m *model) askShell() tea.Cmd {
	l := m.chosen()
	if l == nil {
		m.say("there is no box to open")
		return nil
	}
	host, err := fleet.Destination(l.Name())
	if err != nil {
		m.say("no ssh: " + err.Error())
		return nil
	}
	m.question = &question{text: "run ssh -t -- " + host + " vramscope? y/n", yes: func() tea.Cmd {
		m.outcome.Shell = host
		return m.quit()
	}}
	return nil
}

func (m *model) askFilter() tea.Cmd {
	m.prompt = &prompt{text: []rune(m.place.Filter.String())}
	return nil
}

// prompt is the filter that is being typed.
type prompt struct{ text []rune }

// longestPrompt bounds what is pasted.
const longestPrompt = 200

func (p *prompt) insert(s string) {
	for _, r := range s {
		if text.Printable(r) && len(p.text) < longestPrompt {
			p.text = append(p.text, r)
		}
	}
}

// typed takes a key of the prompt.
func (m *model) typed(name, typed string) tea.Cmd {
	p := m.prompt
	switch name {
	case "enter":
		f, err := fleet.ParseFilter(string(p.text))
		if err != nil {
			m.say(err.Error())
			return nil
		}
		m.prompt = nil
		return m.change(func(place *Place) { place.Filter = f })
	case "esc":
		m.prompt = nil
	case "backspace", "ctrl+h":
		if len(p.text) == 0 {
			m.prompt = nil
			return nil
		}
		p.text = p.text[:len(p.text)-1]
	case "ctrl+u":
		p.text = nil
	case "ctrl+w":
		s := strings.TrimRight(string(p.text), " ")
		p.text = []rune(s[:strings.LastIndex(s, " ")+1])
	default:
		p.insert(typed)
	}
	return nil
}
