package screen

import (
	"cmp"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/fleet"
	"vramscope/internal/quantity"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/terminal"
)

// Place is the user's settings and the position in the lines.
type Place struct {
	Unit   fleet.Unit
	Sort   fleet.Sort
	Filter fleet.Filter
	Cursor string // the key of the cursor's line, "" without a cursor
	top    int
	lines  int // how many lines to ask for beyond those in view
}

// model is the tea.Model. Update draws a new frame after each message, unless the terminal is stalled.
type model struct {
	terminal.Hold
	Options        // Theme and Place are the present ones
	every   string // how often the source is asked

	look cell.Appearance
	dark bool

	width, height int
	view          fleet.View
	names         int // cells of the boxes' names; it only grows, so that nothing shifts
	help          bool
	prompt        *dialog.Prompt
	question      *question
	opening       *opening // nil: no box is being opened
	problem       int      // the index of the problem that is shown
	message       string
	until         time.Time // when the message goes
	outcome       Outcome

	shown []string // the newest frame that was drawn
}

type question struct {
	text string
	yes  func() tea.Cmd
}

type (
	viewMsg  struct{ view fleet.View }
	clockMsg struct{}
)

func newModel(o Options, hold terminal.Hold) (*model, error) {
	t := hold.Traits
	m := &model{Hold: hold, Options: o, every: quantity.BriefDuration(o.Poller.Every()), dark: true}
	m.Theme, m.look.Glyphs = cmp.Or(o.Theme, themes.Default), cell.GlyphsFor(o.ASCII || t.ASCII)
	if _, err := themes.New(m.Theme, m.dark, t.Profile); err != nil {
		return nil, err
	}
	m.restyle()
	m.say(o.Message)
	return m, nil
}

func (m *model) restyle() {
	if s, err := themes.New(m.Theme, m.dark, m.Traits.Profile); err == nil {
		m.look.Styles = s
	}
}

// say shows a message for ten seconds. It returns no command.
func (m *model) say(s string) tea.Cmd {
	m.message, m.until = s, m.Now().Add(10*time.Second)
	return nil
}

func (m *model) Init() tea.Cmd { return nil }

func (m *model) View() tea.View {
	v := tea.View{AltScreen: true}
	if !m.Traits.Console {
		v.WindowTitle = "vramscope fleet"
	}
	return v
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	if !m.Stalled() {
		m.shown = m.frame()
	}
	return m, cmd
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	if msg, ok := msg.(tea.BackgroundColorMsg); ok {
		m.dark = msg.IsDark()
		m.restyle()
		return nil
	}
	if wide, taken := m.TakeAnswer(msg, m.Now()); taken {
		if wide {
			m.look.Glyphs = cell.ASCIIGlyphs()
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
			next := m.prompt.Insert(msg.Content)
			m.prompt = &next
		}
	case tea.WindowSizeMsg:
		m.width, m.height = terminal.Limit(msg.Width, msg.Height)
		m.ask()
	case openedMsg:
		return m.opened(msg)
	case terminal.ResumedMsg:
		if errors.Is(msg.Err, terminal.ErrNotStopped) {
			m.say("cannot suspend: there is " + msg.Err.Error())
		}
	}
	return nil
}

// take takes a newer view. The cursor's line keeps its place on the screen.
func (m *model) take(v fleet.View) {
	at := m.cursor()
	m.view = v
	if now := m.cursor(); at >= 0 && now >= 0 {
		m.Place.top += now - at
	}
	m.scroll()
}

// unit returns the requested unit; for Fitting, the unit of the picture.
func (m *model) unit() fleet.Unit {
	if m.Place.Unit == fleet.Fitting && m.view.Picture != nil {
		return m.view.Picture.Unit
	}
	return m.Place.Unit
}

// answered reports whether the view answers the present query.
func (m *model) answered() bool {
	q := &m.view.Query
	return slices.Equal(q.Filter, m.Place.Filter) && q.Sort == m.Place.Sort && q.Unit == m.Place.Unit
}

func (m *model) lines() []fleet.Line {
	if m.view.Picture == nil {
		return nil
	}
	return m.view.Picture.Lines
}

// cursor returns the index of the cursor's line, -1 if it is not among the lines.
func (m *model) cursor() int {
	if m.Place.Cursor == "" {
		return -1
	}
	return slices.IndexFunc(m.lines(), func(l fleet.Line) bool { return l.Key() == m.Place.Cursor })
}

// scroll keeps cursor and top within the lines.
func (m *model) scroll() {
	rows := m.rows()
	if at := m.cursor(); at >= 0 {
		m.Place.top = min(max(m.Place.top, at-rows+1), at)
	}
	m.Place.top = max(min(m.Place.top, len(m.lines())-rows), 0)
}

// move moves the cursor. Without a cursor, it begins at the top.
func (m *model) move(by int) {
	lines := m.lines()
	if len(lines) == 0 {
		return
	}
	at := m.cursor()
	if at < 0 {
		at = m.Place.top - 1
		by = max(by, 1)
	}
	at = min(max(at+by, 0), len(lines)-1)
	m.Place.Cursor = lines[at].Key()
	m.scroll()
	if at == len(lines)-1 && m.Place.lines < mostLines {
		m.Place.lines += 2 * m.rows() // there may be more
		m.ask()
	}
}

// spareLines are asked for beyond the visible lines, so that scrolling a little needs no new answer.
// mostLines is the most lines that are asked for.
const (
	spareLines = 20
	mostLines  = 500
)

func (m *model) wanted() int { return min(max(m.rows(), 1)+spareLines+m.Place.lines, mostLines) }

func (m *model) ask() {
	m.Poller.Ask(fleet.Query{Lines: m.wanted(), Fit: max(m.rows(), 1), Unit: m.Place.Unit, Sort: m.Place.Sort, Filter: m.Place.Filter})
}

func (m *model) quit() tea.Cmd {
	m.giveUp()
	return m.Quit(m.Now())
}
