package screen

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"vramscope/fleet"
	"vramscope/themes"
	"vramscope/ui/dialog"
	"vramscope/ui/terminal"
)

// binding is an action, with its keys and its words in the help.
type binding struct {
	names []string // tea.KeyPressMsg.String
	shown string
	does  string
	hint  string // on the bottom line, "" if left out there
	act   func(*model) tea.Cmd
}

// bindings lists every key, in the order of the help. Most keys do the same as in the monitor.
var bindings []binding

func init() { // help draws bindings and is one of them
	to := func(lines int) func(*model) tea.Cmd { return func(m *model) tea.Cmd { m.move(lines); return nil } }
	page := func(by int) func(*model) tea.Cmd { return func(m *model) tea.Cmd { m.move(by * m.rows()); return nil } }
	bindings = []binding{
		{[]string{"?", "f1", "h"}, "? F1", "this help", "help", func(m *model) tea.Cmd { m.giveUp(); m.help = true; return nil }},
		{[]string{"q", "f10", "ctrl+c"}, "q F10", "quit", "quit", (*model).quit},
		{[]string{"enter"}, "Enter", "open the box: its GPUs, processes and past; Esc returns", "open", (*model).open},
		{[]string{"tab", "b"}, "Tab b", "a line is a box, a GPU, a user or a job", "boxes", func(m *model) tea.Cmd { return m.change(func(p *Place) { p.Unit = m.unit().Next() }) }},
		{[]string{"o"}, "o", "ssh -t BOX vramscope, after a question", "ssh", (*model).askShell},
		{[]string{"/", "f", "f3", "f4", "\\"}, "/ f F4", "filter: a host, user or job; host= user= job= state=", "filter", (*model).askFilter},
		{[]string{"s", "f6"}, "s S F6", "sort: worst, used, free, cached, utilization", "sort", func(m *model) tea.Cmd { return m.sort(1) }},
		{[]string{"S"}, "", "", "", func(m *model) tea.Cmd { return m.sort(-1) }},
		{[]string{"!"}, "!", "the next problem of those above the keys", "", (*model).nextProblem},
		{[]string{"r"}, "r", "ask now", "", func(m *model) tea.Cmd { m.Poller.Again(); return nil }},
		{[]string{"up", "k"}, "↑ ↓ j k", "line", "", to(-1)},
		{[]string{"down", "j"}, "", "", "", to(1)},
		{[]string{"pgup", "ctrl+b"}, "PgUp PgDn", "page; Home End g G: the ends", "", page(-1)},
		{[]string{"pgdown", "ctrl+f"}, "", "", "", page(1)},
		{[]string{"home", "g"}, "", "", "", to(-mostLines)},
		{[]string{"end", "G"}, "", "", "", to(mostLines)},
		{[]string{"esc"}, "Esc", "clear the filter, then the cursor", "", (*model).back},
		{[]string{"T"}, "T", "theme", "", (*model).nextTheme},
		{[]string{"ctrl+l"}, "Ctrl+L", "redraw; Ctrl+Z: suspend", "", func(*model) tea.Cmd { return func() tea.Msg { return terminal.RedrawMsg{} } }},
		{[]string{"ctrl+z"}, "", "", "", func(m *model) tea.Cmd { return m.Suspend() }},
	}
}

// press takes a key. Ctrl-C always quits.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case name == "ctrl+c":
		return m.quit()
	case m.Ending:
		return nil
	case m.question != nil:
		q := m.question
		if m.question = nil; name == "y" {
			return q.yes()
		}
		return m.say("nothing was run")
	case m.prompt != nil:
		return m.typed(name, msg.Text)
	case m.help:
		m.help = false
		return nil
	}
	for _, b := range bindings {
		if slices.Contains(b.names, name) {
			m.message = ""
			return b.act(m)
		}
	}
	if len(msg.Text) > 0 || len(name) > 1 && name[0] == 'f' {
		m.say(name + " has no function here: ? lists the keys, Enter opens a box")
	}
	return nil
}

// change changes the place, and asks again from the top.
func (m *model) change(what func(*Place)) tea.Cmd {
	what(&m.Place)
	m.Place.Cursor, m.Place.top, m.Place.lines = "", 0, 0
	m.ask()
	return nil
}

func (m *model) back() tea.Cmd {
	switch {
	case m.opening != nil:
		m.giveUp()
	case len(m.Place.Filter) > 0:
		return m.change(func(p *Place) { p.Filter = nil })
	case m.Place.Cursor != "":
		m.Place.Cursor, m.Place.top = "", 0
	default:
		m.say("nothing to clear: q quits")
	}
	return nil
}

// chosen returns the line under the cursor or, without a cursor, the first visible line.
func (m *model) chosen() *fleet.Line {
	lines := m.lines()
	if at := m.cursor(); at >= 0 {
		return &lines[at]
	}
	if m.Place.top < len(lines) {
		return &lines[m.Place.top]
	}
	return nil
}

// askShell asks the user before it runs ssh, because the name comes from a label that anyone may set.
func (m *model) askShell() tea.Cmd {
	l := m.chosen()
	if l == nil || l.Box == "" {
		return m.say("there is no box to open")
	}
	host, err := fleet.Destination(l.Name())
	if err != nil {
		return m.say("no ssh: " + err.Error())
	}
	m.giveUp()
	m.question = &question{text: "run ssh -t -- " + host + " vramscope?", yes: func() tea.Cmd {
		m.outcome.Shell = host
		return m.quit()
	}}
	return nil
}

func (m *model) askFilter() tea.Cmd {
	m.giveUp()
	p := dialog.NewPrompt(&m.look, "filter", m.Place.Filter.String())
	m.prompt = &p
	return nil
}

func (m *model) typed(name, typed string) tea.Cmd {
	next, outcome := m.prompt.Press(name, typed)
	m.prompt = &next
	switch outcome {
	case dialog.Confirmed:
		f, err := fleet.ParseFilter(next.Value())
		if err != nil {
			return m.say(err.Error())
		}
		m.prompt, m.message = nil, ""
		return m.change(func(place *Place) { place.Filter = f })
	case dialog.Closed:
		m.prompt = nil
	}
	return nil
}

func (m *model) nextProblem() tea.Cmd {
	if m.problem++; len(m.problems()) < 2 {
		m.say([]string{"no problem", "no other problem"}[len(m.problems())])
	}
	return nil
}

func (m *model) sort(by int) tea.Cmd {
	return m.change(func(p *Place) { p.Sort = p.Sort.Next(by) })
}

func (m *model) nextTheme() tea.Cmd {
	names := themes.Names()
	m.Theme = names[(slices.Index(names, m.Theme)+1)%len(names)]
	m.restyle()
	return m.say("theme " + m.Theme)
}
