package ui

import (
	"slices"
	"strconv"
	"strings"

	"vramscope/headroom"
	"vramscope/ui/gpus"
	"vramscope/ui/table"

	"vramscope/ui/dialog"

	tea "charm.land/bubbletea/v2"
)

// typing is the line being typed. A filter, search or need takes effect with each key, and Esc restores the former one.
type typing struct {
	kind   typingKind
	prompt dialog.Prompt
	before string       // the former filter, search or need
	cursor table.Cursor // the former cursor
}

type typingKind uint8

const (
	typingFind typingKind = iota
	typingFilter
	typingTime
	typingNeed
)

func (m *model) openTyping(kind typingKind) bool {
	e := &typing{kind: kind, cursor: m.st.Cursor}
	switch kind {
	case typingFilter:
		e.before = m.st.Filter
		e.prompt = dialog.NewPrompt(&m.look, "filter", m.st.Filter)
	case typingTime:
		e.prompt = dialog.NewPrompt(&m.look, "time, as 03:12 or 2026-11-21 03:12", "")
	case typingNeed:
		e.before = m.st.need
		e.prompt = dialog.NewPrompt(&m.look, "will it fit", m.st.need)
		m.setNeed(m.st.need)
	default:
		e.before = m.st.find
		e.prompt = dialog.NewPrompt(&m.look, "find", "")
	}
	m.st.typing = e
	return true
}

// typed takes a key for the line being typed. Up and down move the cursor of the table.
func (m *model) typed(msg tea.KeyPressMsg) (bool, tea.Cmd) {
	e := m.st.typing
	next, out := e.prompt.Press(msg.String(), msg.Text)
	switch out {
	case dialog.Confirmed:
		m.st.typing = nil
		if e.kind == typingTime {
			return m.toTyped(e.prompt.Value())
		}
		switch {
		case e.kind == typingNeed && m.st.fit == nil:
			m.setNeed("")
			if _, ok := headroom.ParseNeed(e.prompt.Value()); !ok && strings.TrimSpace(e.prompt.Value()) != "" {
				m.say("not a size: " + e.prompt.Value() + "; H takes 20G, 512M, 2x40G for two GPUs")
			}
		case e.kind == typingFind && e.prompt.Value() == "":
			m.st.find = e.before // Enter without a text repeats the search
			if m.st.find != "" {
				m.findNext(1)
			}
		case e.kind == typingFind && m.find(0, 1):
			m.say(m.found())
		}
	case dialog.Closed:
		m.st.typing = nil
		switch e.kind {
		case typingFilter:
			m.st.Filter, m.st.Cursor = e.before, e.cursor
		case typingFind:
			m.st.find, m.st.Cursor = e.before, e.cursor
		case typingNeed:
			m.setNeed(e.before)
		}
		m.keepCursor()
	case dialog.Ignored:
		switch msg.String() {
		case "up":
			return m.move(-1), nil
		case "down":
			return m.move(1), nil
		}
		return false, nil
	default:
		m.edit(next)
	}
	return true, nil
}

// paste inserts text into the line being typed. Elsewhere pasted text must not act as keys.
func (m *model) paste(text string) bool {
	if m.st.typing == nil {
		return false
	}
	m.edit(m.st.typing.prompt.Insert(text))
	return true
}

func (m *model) edit(next dialog.Prompt) {
	e := m.st.typing
	changed := next.Value() != e.prompt.Value()
	e.prompt = next
	switch {
	case !changed, e.kind == typingTime: // takes effect at Enter
	case e.kind == typingNeed:
		m.setNeed(next.Value())
	case e.kind == typingFilter:
		m.st.Filter, m.st.Cursor = next.Value(), e.cursor
		m.st.setAnew(settingFilter)
		m.toTop()
	default:
		m.st.find, m.st.Cursor = next.Value(), e.cursor
		m.st.setAnew(settingFind)
		m.st.message = ""
		if m.st.find != "" && !m.find(0, 1) {
			m.say("no row contains " + m.st.find)
		}
	}
}

// findNext goes to the next or previous match, around the ends.
func (m *model) findNext(step int) bool {
	switch {
	case m.st.find == "":
		return m.say("nothing to find: press / and type a text")
	case m.find(step, step):
		return m.say(m.found())
	default:
		return m.say("no row contains " + m.st.find)
	}
}

// found returns "2 of 5 with train": the number of the match under the cursor.
func (m *model) found() string {
	which, all := 0, 0
	for _, id := range m.rowIDs() {
		if p := m.st.shown.AnyRow(id); p == nil || !table.Matches(p, m.st.find) {
			continue
		}
		if all++; id == m.st.Cursor.ID {
			which = all
		}
	}
	return strconv.Itoa(which) + " of " + strconv.Itoa(all) + " with " + m.st.find
}

// find puts the cursor on the first match. It looks at the row of the cursor plus from, and goes on by step.
func (m *model) find(from, step int) bool {
	ids := m.rowIDs()
	at := max(slices.Index(ids, m.st.Cursor.ID), 0)
	if !m.st.Cursor.Active {
		from = 0 // begin at the first row
	}
	for i := range ids {
		j := (at + from + i*step) % len(ids)
		if j < 0 {
			j += len(ids)
		}
		if p := m.st.shown.AnyRow(ids[j]); p != nil && table.Matches(p, m.st.find) {
			m.moveTo(ids, j)
			return true
		}
	}
	return false
}

func (m *model) setNeed(need string) {
	m.st.need, m.st.fit = need, gpus.FitOf(need, m.st.shown, m.st.history)
}
