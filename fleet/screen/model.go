package screen

import (
	"cmp"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/fleet"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/terminal"
)

// Place is what the user has set, and where the cursor is.
type Place struct {
	Unit   fleet.Unit
	Sort   fleet.Sort
	Filter fleet.Filter
	Cursor Key // zero: none, the top is shown
	top    int
	lines  int // how many are asked for beyond those in view
}

// Key identifies a line.
type Key struct{ Box, UUID string }

func keyOf(l *fleet.Line) Key { return Key{l.Box, l.GPU.UUID} }

// model is the tea.Model. Update draws the frame where something changed.
type model struct {
	poller     *fleet.Poller
	name       string
	now        func() time.Time
	suspension *terminal.Suspension
	end        func()
	stalled    func() bool

	look    cell.Appearance
	theme   string
	dark    bool
	traits  terminal.Traits
	answers terminal.Answers

	width, height int
	view          fleet.View
	place         Place
	names         int // cells of the boxes' names; it only grows, so that nothing shifts
	help          bool
	prompt        *prompt
	question      *question
	message       string
	until         time.Time // when the message goes
	ending        bool
	outcome       Outcome

	content string
	stale   bool // the frame is older than the state: the terminal took none
}

// question is asked before something is run.
type question struct {
	text string
	yes  func() tea.Cmd
}

type (
	viewMsg      struct{ view fleet.View }
	clockMsg     struct{}
	drainedMsg   struct{ lost bool }
	suspendMsg   struct{}
	continuedMsg struct{}
	resumedMsg   struct{ err error }
	endMsg       struct{}
)

func newModel(o *Options, t terminal.Traits) (*model, error) {
	m := &model{
		poller: o.Poller, name: o.Name, now: o.Now, traits: t, dark: true, theme: cmp.Or(o.Theme, themes.Default),
		end: func() {}, stalled: func() bool { return false }, look: cell.Appearance{Glyphs: cell.UnicodeGlyphs()},
	}
	if o.ASCII || t.ASCII {
		m.look.Glyphs = cell.ASCIIGlyphs()
	}
	if _, err := themes.New(m.theme, m.dark, t.Profile); err != nil {
		return nil, err
	}
	m.restyle()
	if o.Resume != nil {
		m.place = *o.Resume
	}
	m.say(o.Message)
	m.answers = t.Asked(m.now(), m.look.Glyphs.ASCII)
	return m, nil
}

func (m *model) restyle() {
	if s, err := themes.New(m.theme, m.dark, m.traits.Profile); err == nil {
		m.look.Styles = s
	}
}

// messageTime is how long a message stays.
const messageTime = 10 * time.Second

func (m *model) say(s string) { m.message, m.until = s, m.now().Add(messageTime) }

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return nil }

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(m.content)
	v.AltScreen = true
	if !m.traits.Console {
		v.WindowTitle = "vramscope fleet"
	}
	return v
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	if m.stalled() {
		m.stale = true
	} else {
		m.stale, m.content = false, m.frame()
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(tea.BackgroundColorMsg); ok {
		m.dark = msg.IsDark()
		m.restyle()
		return nil
	}
	if wide, taken := m.answers.Take(msg); taken {
		if wide {
			m.look.Glyphs = cell.ASCIIGlyphs()
		}
		if m.ending && !m.answers.Expected(m.now()) {
			m.end()
		}
		return nil
	}
	switch msg := msg.(type) {
	case viewMsg:
		m.take(msg.view)
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		if m.prompt != nil {
			m.prompt.insert(msg.Content)
		}
	case tea.WindowSizeMsg:
		m.width, m.height = terminal.Limit(msg.Width, msg.Height)
		m.ask()
	case suspendMsg:
		return m.suspend()
	case continuedMsg:
		s := m.suspension
		return func() tea.Msg { s.Retake(); return nil }
	case endMsg:
		m.end()
	}
	return nil
}

// take takes a newer view. The line of the cursor keeps its place on the screen.
func (m *model) take(v fleet.View) {
	at := m.cursor()
	m.view = v
	if now := m.cursor(); at >= 0 && now >= 0 {
		m.place.top += now - at
	}
	m.scroll()
}

// lines are those of the view.
func (m *model) lines() []fleet.Line {
	if m.view.Picture == nil {
		return nil
	}
	return m.view.Picture.Lines
}

// cursor is the index of the cursor's line, -1 where there is none.
func (m *model) cursor() int {
	if m.place.Cursor == (Key{}) {
		return -1
	}
	return slices.IndexFunc(m.lines(), func(l fleet.Line) bool { return keyOf(&l) == m.place.Cursor })
}

// scroll keeps cursor and top within what there is.
func (m *model) scroll() {
	rows := m.rows()
	if at := m.cursor(); at >= 0 {
		m.place.top = min(max(m.place.top, at-rows+1), at)
	}
	m.place.top = max(min(m.place.top, len(m.lines())-rows), 0)
}

// move moves the cursor; from no cursor it begins at the top.
func (m *model) move(by int) {
	lines := m.lines()
	if len(lines) == 0 {
		return
	}
	at := m.cursor()
	if at < 0 {
		at = m.place.top - 1
		by = max(by, 1)
	}
	at = min(max(at+by, 0), len(lines)-1)
	m.place.Cursor = keyOf(&lines[at])
	m.scroll()
	if at == len(lines)-1 && m.place.lines < mostLines {
		m.place.lines += 2 * m.rows() // there may be more
		m.ask()
	}
}

// Lines asked for beyond those in view, so that a little scrolling asks for nothing,
// and the most: whoever looks for more filters.
const (
	spareLines = 20
	mostLines  = 500
)

// wanted is how many lines are asked for.
func (m *model) wanted() int { return min(max(m.rows(), 1)+spareLines+m.place.lines, mostLines) }

// ask asks for what the place wants.
func (m *model) ask() {
	m.poller.Ask(fleet.Query{Lines: m.wanted(), Fit: max(m.rows(), 1), Unit: m.place.Unit, Sort: m.place.Sort, Filter: m.place.Filter})
}

// quit ends the program after the terminal's answers, which the shell must not get.
func (m *model) quit() tea.Cmd {
	if !m.answers.Expected(m.now()) {
		m.end()
		return nil
	}
	m.ending = true
	return tea.Tick(300*time.Millisecond, func(time.Time) tea.Msg { return endMsg{} })
}

func (m *model) suspend() tea.Cmd {
	if m.suspension == nil {
		return nil
	}
	s := m.suspension
	release := tea.Exec(s, func(err error) tea.Msg { return resumedMsg{err} })
	return func() tea.Msg {
		if err := s.Prepare(); err != nil {
			return resumedMsg{err}
		}
		return release()
	}
}
