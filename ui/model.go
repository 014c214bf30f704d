package ui

import (
	"cmp"
	"maps"
	"time"

	"vramscope/ui/cell"
	"vramscope/ui/graph"
	"vramscope/ui/keys"
	"vramscope/ui/table"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/terminal"
)

// model is the tea.Model. Update draws a frame when the state has changed, Frame returns that frame, and View
// returns only the terminal's modes and title.
type model struct {
	terminal.Hold
	options Options

	st    state
	look  cell.Appearance
	theme string
	dark  bool // the terminal has a dark background

	flush     *flushRun // nil while none runs
	freed     freed     // by the last flush
	attaching bool      // a probe is being attached
	bell      bell

	digits      digits            // the index of a GPU being typed
	past        int               // number of the newest request to the history
	insideAsked int               // number of the newest request for the map or the holders
	asked       time.Time         // when the open question was opened or completed
	current     snapshot.AlertKey // the alert that the key ! chose for the alert line

	lines   []string // the frame
	title   string
	details bool // the last value that Options.Details got

	stale bool // the frame is older than the state, because the terminal stalled
}

func newModel(options Options, hold terminal.Hold) (*model, error) {
	t := hold.Traits
	options.Theme, options.Sort = cmp.Or(options.Theme, themes.Default), cmp.Or(options.Sort, "USED")
	m := &model{Hold: hold, options: options, theme: options.Theme, dark: true}
	m.look = cell.Appearance{
		Glyphs:  cell.GlyphsFor(options.ASCII || t.ASCII),
		Keys:    keys.New(options.abilities(t), options.ReadOnly),
		Version: options.Version,
	}
	if _, err := themes.New(m.theme, m.dark, t.Profile); err != nil {
		return nil, err
	}
	m.restyle()
	m.st = state{
		now:       options.Now(),
		history:   options.History,
		idleAfter: options.IdleAfter,
		readOnly:  options.ReadOnly,
		replay:    options.Replay,
		Listing:   table.Listing{Tags: make(map[snapshot.RowID]bool)},
		hintOff:   options.Escaped != nil, // in a nested screen Esc must go back, not dismiss the hint
		nested:    options.Escaped != nil,
		stacks:    m.st.stacks,
		incidents: incidents{found: map[string]snapshot.Incident{}, seen: maps.Collect(maps.All(options.Seen)), causes: map[string]string{}},
	}
	m.apply(options.Settings)
	return m, nil
}

func (m *model) restyle() {
	if styles, err := themes.New(m.theme, m.dark, m.Traits.Profile); err == nil {
		m.look.Styles, m.st.stacks = styles, &graph.Stacks{}
	}
}

// begin draws the first frame, before the program runs.
func (m *model) begin(width, height int, first *snapshot.Snapshot) {
	m.st.width, m.st.height = width, height
	m.Expect(m.options.Now(), m.look.Glyphs.ASCII)
	if first != nil {
		m.takeSnapshot(first)
		if m.st.replay {
			m.st.past = first.Time
		}
	}
	m.draw()
}

func (m *model) Init() tea.Cmd { return nil }

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	changed, cmd := m.update(msg)
	if changed {
		m.draw()
	}
	return m, cmd
}

func (m *model) View() tea.View {
	view := tea.View{AltScreen: true}
	if !m.Traits.Console {
		view.WindowTitle = m.title
	}
	if m.st.mouse {
		view.MouseMode = tea.MouseModeCellMotion
	}
	return view
}

// draw draws a frame, but none while the terminal stalls, so that frames do not queue.
func (m *model) draw() {
	if m.Stalled() {
		m.stale = true
		return
	}
	m.stale = false
	m.lines = frame(&m.st, &m.look)
	m.title = titleOf(m.st.live)
}

// say shows a message for messageTime. It returns true, because the screen has changed.
func (m *model) say(text string) bool {
	m.st.message = text
	m.st.messageUntil = m.options.Now().Add(messageTime)
	return true
}

const messageTime = 10 * time.Second
