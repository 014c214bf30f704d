package screen

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/fleet"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
)

// opening is a box that is being fetched, while the screen continues.
type opening struct {
	name   string
	began  time.Time
	cancel context.CancelFunc
}

type openedMsg struct {
	opening *opening
	box     *fleet.Opened
	err     error
}

// open starts to fetch the chosen box. When the box has come, the method opened ends Run with it. For a
// user or a job, open shows their GPUs instead.
func (m *model) open() tea.Cmd {
	l := m.chosen()
	switch {
	case l == nil:
		return m.say("there is no box to open")
	case l.Box == "":
		return m.narrow(l)
	case l.State == fleet.Down || l.State == fleet.Asking:
		return m.say(text.Clean(l.Name()) + " does not answer: " + text.Clean(l.Why))
	}
	m.giveUp()
	ctx, cancel := context.WithCancel(context.Background())
	o := &opening{text.Clean(l.Name()), m.Now(), cancel}
	m.Place.Cursor, m.opening, m.message = l.Key(), o, ""
	box, fetch := l.Box, m.Open
	return func() tea.Msg {
		opened, err := fetch(ctx, box)
		return openedMsg{o, opened, err}
	}
}

// narrow shows the GPUs that have a user's or a job's processes.
func (m *model) narrow(l *fleet.Line) tea.Cmd {
	term := fleet.Term{Field: fleet.InUser, Word: l.User}
	if l.Job != "" {
		term = fleet.Term{Field: fleet.InJob, Word: l.Job}
	}
	filter, err := fleet.ParseFilter(fleet.Filter{term}.String())
	if err != nil {
		return m.say("these processes have no name to filter by")
	}
	return m.change(func(p *Place) { p.Unit, p.Filter = fleet.GPUs, append(slices.Clone(p.Filter), filter...) })
}

// opened takes a fetched box, unless the user has given up on it.
func (m *model) opened(msg openedMsg) tea.Cmd {
	if msg.opening != m.opening {
		return nil // given up
	}
	m.giveUp()
	if msg.err != nil {
		return m.say(msg.opening.name + ": " + text.Clean(msg.err.Error()))
	}
	m.outcome.Open = msg.box
	return m.quit()
}

// giveUp stops waiting for a box. Keys call it, because keys after it are not meant for the box's screen.
func (m *model) giveUp() {
	if m.opening != nil {
		m.opening.cancel()
		m.opening = nil
	}
}

func (o *opening) words(now time.Time, ellipsis string) string {
	s := "opening " + o.name + ellipsis
	if d := now.Sub(o.began).Truncate(time.Second); d > 0 {
		s += " " + quantity.Duration(d) + ", Esc gives up"
	}
	return s
}
