package ui

import (
	"unicode"

	"vramscope/ui/dialog"
	"vramscope/ui/keys"
	"vramscope/ui/terminal"

	tea "charm.land/bubbletea/v2"
)

// press handles a key. Ctrl-C always quits. Prompts and questions read keys themselves.
func (m *model) press(msg tea.KeyPressMsg) (bool, tea.Cmd) {
	if msg.Code == tea.KeyEscape {
		msg.Mod &^= tea.ModAlt // two Esc that a slow line delivered together
	}
	name := msg.String()
	switch {
	case name == "ctrl+c":
		return true, m.Quit(m.options.Now())
	case m.Ending:
		return false, nil
	case m.st.typing != nil:
		return m.typed(msg)
	}
	if key, merged := afterEscape(msg); merged && (m.st.overlay != nil || m.st.fills()) {
		if m.st.overlay != nil || !m.stopFlush() {
			m.back()
		}
		_, cmd := m.press(key)
		return true, cmd
	}
	if m.st.overlay != nil {
		if changed, cmd, taken := m.pressOverlay(name); taken {
			return changed, cmd
		}
		if help, is := m.st.overlay.(dialog.Help); is { // a key that acts elsewhere closes the help
			m.closeOverlay()
			if m.look.Keys.Match(name, m.st.scope(), !m.st.past.IsZero()) == keys.None {
				m.openOverlay(help)
			}
		}
	}
	id := m.look.Keys.Match(name, m.st.scope(), !m.st.past.IsZero())
	if m.digits.open && id != keys.GPU {
		m.digits.open = false
		m.focusGPU(m.digits.first)
	}
	if id == keys.None {
		return m.noKey(name), nil
	}
	m.st.message = "" // the user has read it
	if m.st.overlay == nil {
		if changed, done := m.moveKey(id); done {
			return changed, m.followInside()
		}
	}
	return m.do(id, name)
}

// afterEscape returns the key that arrived together with Esc: such a pair is read as Alt and the key.
func afterEscape(msg tea.KeyPressMsg) (key tea.KeyPressMsg, merged bool) {
	if msg.Mod&^tea.ModShift != tea.ModAlt || msg.Code <= ' ' || msg.Code >= 0x7f {
		return msg, false
	}
	msg.Mod &^= tea.ModAlt
	msg.Text = string(msg.Code)
	if msg.Mod.Contains(tea.ModShift) {
		msg.Text = string(unicode.ToUpper(msg.Code))
	}
	return msg, true
}

func (m *model) moveKey(id keys.ID) (changed, done bool) {
	lay := m.layout()
	move, rows := m.move, lay.rows()
	switch {
	case m.st.page != nil:
		move, rows = m.scrollPage, lay.page().rows
	case m.st.onGPUs && !m.st.detail && !m.st.noDriver():
		move, rows = m.walkGPUs, lay.gpus.rows*lay.gpuColumns
	}
	const all = 1 << 20
	page := max(rows-1, 1)
	by, moves := map[keys.ID]int{
		keys.Up: -1, keys.Down: 1, keys.PageUp: -page, keys.PageDown: page, keys.Home: -all, keys.End: all,
		keys.Left: -scrollStep, keys.Right: scrollStep,
	}[id]
	switch {
	case id == keys.Left || id == keys.Right:
		return m.scrollColumns(by), true
	case moves:
		return move(by), true
	}
	return false, false
}

// scrollStep is how many cells an arrow key scrolls the COMMAND column.
const scrollStep = 8

func (m *model) scrollColumns(by int) bool {
	widest := m.widestCommand()
	if widest == 0 && m.st.ScrollX == 0 {
		m.say("all commands fit: nothing to scroll")
	}
	to := min(max(m.st.ScrollX+by, 0), widest)
	changed := to != m.st.ScrollX
	m.st.ScrollX = to
	return changed
}

// changes are the keys that only change the screen. Their functions report whether it has changed.
var changes = map[keys.ID]func(*model) bool{
	keys.Help:         (*model).openHelp,
	keys.Setup:        (*model).openSetup,
	keys.Theme:        (*model).nextTheme,
	keys.GPUPage:      (*model).togglePage,
	keys.Tab:          (*model).nextPanel,
	keys.NextAlert:    (*model).nextAlert,
	keys.Detail:       (*model).openDetail,
	keys.Reverse:      (*model).reverse,
	keys.Pin:          (*model).pin,
	keys.Zoom:         (*model).zoom,
	keys.GraphStyle:   (*model).graphStyle,
	keys.Signal:       (*model).openSignal,
	keys.NextGPU:      func(m *model) bool { return m.walkPages(1) },
	keys.PreviousGPU:  func(m *model) bool { return m.walkPages(-1) },
	keys.Find:         func(m *model) bool { return m.openTyping(typingFind) },
	keys.FindNext:     func(m *model) bool { return m.findNext(1) },
	keys.FindPrevious: func(m *model) bool { return m.findNext(-1) },
	keys.Fit:          func(m *model) bool { return m.openTyping(typingNeed) },
	keys.Filter:       func(m *model) bool { return m.openTyping(typingFilter) },
	keys.Sort:         func(m *model) bool { return m.stepSort(1) },
	keys.SortBack:     func(m *model) bool { return m.stepSort(-1) },
	keys.AskTime:      func(m *model) bool { return m.openTyping(typingTime) },
}

// commands are the keys whose functions may also return a command.
var commands = map[keys.ID]func(*model) (bool, tea.Cmd){
	keys.Back:        (*model).escape,
	keys.Incident:    (*model).openIncident,
	keys.MarkSeen:    (*model).seeAll,
	keys.Live:        (*model).present,
	keys.Doctor:      (*model).askDoctor,
	keys.Environment: (*model).askEnvironment,
	keys.Copy:        (*model).copyPID,
	keys.AskAgain:    (*model).askInside,
	keys.Flush:       (*model).openFlush,
	keys.Attach:      (*model).openAttach,
	keys.Freeze:      (*model).freeze,
}

// do acts on all keys except the movement keys.
func (m *model) do(id keys.ID, name string) (bool, tea.Cmd) {
	switch id {
	case keys.Quit:
		if m.st.overlay != nil || m.st.fills() {
			return m.back(), nil
		}
		return true, m.Quit(m.options.Now())
	case keys.Events:
		return m.openOverlay(dialog.NewEvents(&m.look, m.st.screen())), nil
	case keys.LookNow:
		return true, m.lookNow()
	case keys.Slower, keys.Faster:
		return m.changeInterval(id == keys.Slower), nil
	case keys.Mouse:
		m.st.mouse = !m.st.mouse
		return m.say(map[bool]string{true: "mouse on: to select text hold Shift", false: "mouse off"}[m.st.mouse]), nil
	case keys.Redraw:
		return true, func() tea.Msg { return terminal.RedrawMsg{} }
	case keys.Suspend:
		return false, m.Suspend()
	case keys.GPU:
		return m.digit(int(name[0] - '0'))
	case keys.Mine:
		m.st.Mine = !m.st.Mine
		m.toTop()
		return true, nil
	case keys.SortBy:
		t := m.table()
		return m.openOverlay(dialog.NewSortBy(&m.look, items(t.SortColumns()), t.Order().Column, t.Order().Reversed)), nil
	case keys.Tree:
		m.st.Tree = !m.st.Tree
		m.say(map[bool]string{true: "tree: processes below their parents", false: "list without tree"}[m.st.Tree])
		m.toTop()
		return true, nil
	case keys.Save:
		return false, m.save()
	case keys.Map, keys.Holders:
		return m.toggleInside(id)
	case keys.PauseGuard:
		return m.openOverlay(dialog.NewPause(&m.look, m.st.screen())), nil
	case keys.Tag, keys.Untag:
		return m.tag(id == keys.Tag), nil
	case keys.PreviousEvent, keys.NextEvent:
		return m.toEvent(id == keys.NextEvent)
	}
	if step, ok := steps[id]; ok {
		return m.scrub(step)
	}
	if change, ok := changes[id]; ok {
		return change(m), nil
	}
	if command, ok := commands[id]; ok {
		return command(m)
	}
	return false, nil
}

// escape handles Esc: it stops a flush, does what back does, or returns to the screen that opened this one.
func (m *model) escape() (bool, tea.Cmd) {
	switch {
	case m.stopFlush() || m.back():
		return true, nil
	case m.options.Escaped != nil:
		m.options.Escaped()
		return true, m.Quit(m.options.Now())
	case !m.st.past.IsZero():
		m.say("Esc has nothing to clear here: L goes to the " + map[bool]string{true: "newest moment", false: "present"}[m.st.replay])
	}
	return false, nil
}

// back closes the innermost panel, or else clears the newest setting, the cursor or the hint.
func (m *model) back() bool {
	switch {
	case m.st.overlay != nil:
		return m.closeOverlay()
	case m.st.page != nil:
		m.st.page = nil
	case m.st.detail && m.st.inside != nil:
		m.st.inside = nil
	case m.st.detail:
		m.st.detail = false
	case m.st.onGPUs:
		m.st.onGPUs = false
	case m.st.onTable:
		m.st.onTable = false
	case m.clearLast():
	case m.dropCursor():
	case !m.st.hintOff && m.st.past.IsZero():
		m.st.hintOff = true
	default:
		return false
	}
	return true
}
