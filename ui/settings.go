package ui

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/internal/quantity"
	"vramscope/themes"
	"vramscope/ui/graph"
)

// intervals are the steps of + and -.
func intervals() []time.Duration {
	return []time.Duration{
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
		2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}
}

// changeInterval goes to the next longer or shorter interval.
func (m *model) changeInterval(longer bool) (changed bool, cmd tea.Cmd, done bool) {
	if m.options.Sampling == nil || m.st.live == nil {
		return false, nil, true
	}
	now := m.interval
	if now == 0 {
		now = m.st.live.Interval
	}
	steps := intervals()
	at, exact := slices.BinarySearch(steps, now)
	if longer && exact {
		at++
	} else if !longer {
		at--
	}
	if at < 0 || at >= len(steps) {
		return false, nil, true
	}
	next := steps[at]
	m.interval = next
	m.wish.newest.Store(int64(next))
	m.say("interval " + next.String())
	return true, func() tea.Msg {
		m.wish.grant(m.options.Sampling)
		return nil
	}, true
}

// intervalWish is the interval that was asked for last. Commands run each on a
// goroutine of its own, in any order: whichever is last to come through asks
// for the newest.
type intervalWish struct {
	newest atomic.Int64
	mu     sync.Mutex // held while the sampler is told, which may take its time
}

func (w *intervalWish) grant(sampling Sampling) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sampling.SetInterval(time.Duration(w.newest.Load()))
}

// nextTheme walks through the themes.
func (m *model) nextTheme() bool {
	names := themes.Names()
	m.theme = names[(slices.Index(names, m.theme)+1)%len(names)]
	m.restyle()
	m.say("theme " + m.theme)
	return true
}

// zoom takes the graph to the next longer window than the one that it shows,
// or back to the shortest.
func (m *model) zoom() bool {
	windows := []time.Duration{5 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 24 * time.Hour}
	rows := m.graphRows()
	now := graph.Graph{Window: m.st.window}.WindowFor(rows)
	m.st.window = windows[0]
	if i := slices.IndexFunc(windows, func(w time.Duration) bool { return w > now }); i >= 0 {
		m.st.window = windows[i]
	}
	if rows == 0 {
		m.say("graph window " + quantity.BriefDuration(m.st.window) + "; Enter shows a process's graph")
	}
	return true
}

// graphRows is how high the graph on the screen is, 0 where none is.
func (m *model) graphRows() int {
	lay := m.layout()
	if !m.st.detail {
		return lay.graph.rows
	}
	room := lay.above().rows
	return newDetail(&m.st, &m.look, m.table().Rows, true).graphRows(m.st.width, room)
}
