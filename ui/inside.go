package ui

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/detail"
	"vramscope/ui/keys"
	"vramscope/ui/segments"
)

// inside is a probe's answer in the detail: the map (v) in place of the graph, or the holders (V) above the graph.
// An answer costs the program too much to be fetched every second. The probe is asked when the view opens and by r,
// for the map also after a flush and when the cursor moves.
//
//	v, V, r ─→ askInside ─ cmd: Actions ─→ insideMsg ─→ state.inside ─→ the detail
//	j, k ────→ followInside ─ a moment ──→ insideDueMsg ─→ askInside
type inside struct {
	row     snapshot.RowID
	request int
	held    *detail.Held // the holders; nil: the map
	segments.View
}

type (
	// insideMsg is the answer of a probe; show puts the answer into inside.
	insideMsg struct {
		request int
		show    func(*inside)
		err     error
	}
	// insideDueMsg comes when the cursor has stayed on a process for a moment.
	insideDueMsg struct{ request int }
)

const (
	// segmentsTimeout is how long a probe has to report a map.
	segmentsTimeout = 15 * time.Second
	// holdersTimeout is longer than a probe waits for a step to end.
	holdersTimeout = time.Minute
	// segmentsPause is how long the cursor must stay on a process before its probe is asked, so that holding j
	// down asks no probe.
	segmentsPause = 300 * time.Millisecond
)

func (i *inside) key() keys.ID {
	if i.held != nil {
		return keys.Holders
	}
	return keys.Map
}

// answers reports whether a process's probe can answer a key.
func answers(p *snapshot.Process, key keys.ID) bool {
	if p == nil || p.Probe == nil || p.Probe.State == snapshot.ProbeSilent {
		return false
	}
	if key == keys.Holders {
		return !p.Probe.ByDaemon && slices.Contains(p.Probe.Capabilities, "holds")
	}
	return slices.Contains(p.Probe.Capabilities, "snapshot")
}

// whyNoAnswer returns why there is no answer to a key.
func whyNoAnswer(p *snapshot.Process, key keys.ID) string {
	what, limit := "report its segments", ""
	if key == keys.Holders {
		what, limit = "say what holds its memory", ": it can for PyTorch's own allocator alone"
	}
	switch {
	case p == nil:
		return "it has exited"
	case p.Probe == nil:
		return "PID " + strconv.Itoa(p.ID.Process.PID) + " has no probe: only a probe can " + what
	case p.Probe.State == snapshot.ProbeSilent:
		return "its probe is silent"
	case key == keys.Holders && p.Probe.ByDaemon:
		return "another user's: its probe says to its owner alone what holds its memory"
	default:
		return "its probe cannot " + what + limit
	}
}

// toggleInside shows the answer to a key, or hides it again.
func (m *model) toggleInside(key keys.ID) (bool, tea.Cmd) {
	if now := m.st.inside; now != nil && now.key() == key {
		m.st.inside = nil
		return true, nil
	}
	p := m.needCursor()
	switch {
	case p == nil:
		return false, nil
	case !m.st.past.IsZero():
		return m.say(map[bool]string{true: "holders are", false: "the map is"}[key == keys.Holders] + " of now: L shows the present"), nil
	}
	if live := m.st.live.Row(p.ID); !answers(live, key) {
		return m.say(whyNoAnswer(live, key)), nil
	}
	m.st.inside = &inside{row: p.ID}
	if key == keys.Holders {
		m.st.inside.held = &detail.Held{View: &m.st.inside.View}
	}
	return m.askInside()
}

func (m *model) askInside() (bool, tea.Cmd) {
	now := m.st.inside
	if now == nil {
		return false, nil
	}
	m.insideAsked++
	now.request = m.insideAsked
	live := m.st.live.Row(now.row)
	if !answers(live, now.key()) {
		now.Asking, now.Refusal = false, whyNoAnswer(live, now.key())
		return true, nil
	}
	now.Asking, now.Refusal = true, ""
	timeout, actions := segmentsTimeout, m.options.Actions
	if now.held != nil {
		now.held.Asked, timeout = m.st.now, holdersTimeout
	}
	request, key, id, device := now.request, now.key(), now.row.Process, m.st.live.DeviceUUID(now.row)
	return true, func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		msg := insideMsg{request: request}
		if key == keys.Holders {
			found, err := actions.Holders(ctx, id, device)
			msg.show, msg.err = func(i *inside) { i.held.Found = &found }, err
		} else {
			reported, err := actions.Segments(ctx, id, device)
			msg.show, msg.err = func(i *inside) { i.Map = segments.New(reported) }, err
		}
		if errors.Is(msg.err, context.DeadlineExceeded) {
			msg.err = errors.New("no answer from its probe within " + quantity.Duration(timeout))
		}
		return msg
	}
}

// takeInside shows the answer of the probe, unless it answers an earlier request than the newest.
func (m *model) takeInside(msg insideMsg) bool {
	now := m.st.inside
	if now == nil || now.request != msg.request {
		return false
	}
	now.Asking = false
	switch {
	case msg.err != nil && (now.Map != nil || now.held != nil && now.held.Found != nil):
		m.say(msg.err.Error()) // the old answer stays, with its age
	case msg.err != nil:
		now.Refusal = text.Clean(msg.err.Error())
	default:
		msg.show(now)
	}
	return true
}

// followInside moves the map to the process that the cursor has moved to, and hides holders: only V asks for them.
func (m *model) followInside() tea.Cmd {
	now := m.st.inside
	if now == nil || !m.st.Cursor.Active || now.row == m.st.Cursor.ID {
		return nil
	}
	m.insideAsked++
	if now.held != nil {
		m.st.inside = nil
		return nil
	}
	request := m.insideAsked
	m.st.inside = &inside{row: m.st.Cursor.ID, request: request, View: segments.View{Asking: true}}
	return tea.Tick(segmentsPause, func(time.Time) tea.Msg { return insideDueMsg{request} })
}
