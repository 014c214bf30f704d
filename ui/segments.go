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
	"vramscope/ui/segments"
)

// v shows the map of segments in the place of the detail's graph. The probe is asked once,
// and again with r: a map costs the program too much to be fetched every second.
//
//	v, r ─→ askSegments ─ cmd: Segments ─→ segmentsMsg ─→ state.segments ─→ segments.Panel
//	j, k ─→ followSegments ─ a moment ───→ segmentsDueMsg ─→ askSegments
type segmentMap struct {
	row     snapshot.RowID
	request int
	segments.View
}

type (
	// segmentsMsg is the segments that a probe reported.
	segmentsMsg struct {
		request  int
		reported snapshot.SegmentMap
		err      error
	}
	// segmentsDueMsg comes when the cursor has stayed on a process for a moment.
	segmentsDueMsg struct{ request int }
)

const (
	// segmentsTimeout is how long a probe has to answer.
	segmentsTimeout = 15 * time.Second
	// segmentsPause is how long the cursor must stay on a process before its
	// probe is asked: holding j down asks none on the way.
	segmentsPause = 300 * time.Millisecond
)

func mapsSegments(p *snapshot.Process) bool {
	return p != nil && p.Probe != nil && p.Probe.State != snapshot.ProbeSilent && slices.Contains(p.Probe.Capabilities, "snapshot")
}

// mapRefusal is why there is no map of a process.
func mapRefusal(p *snapshot.Process) string {
	switch {
	case p == nil:
		return "it has exited"
	case p.Probe == nil:
		return "PID " + strconv.Itoa(p.ID.Process.PID) + " has no probe: only a probe can report its segments"
	case p.Probe.State == snapshot.ProbeSilent:
		return "its probe is silent"
	default:
		return "its probe cannot report its segments"
	}
}

func (m *model) toggleSegments() (bool, tea.Cmd) {
	if m.st.segments != nil {
		m.st.segments = nil
		return true, nil
	}
	p := m.needCursor()
	switch {
	case p == nil:
		return false, nil
	case !m.st.past.IsZero():
		m.say("the map is of now: L shows the present")
		return true, nil
	}
	if live := m.st.live.Row(p.ID); !mapsSegments(live) {
		m.say(mapRefusal(live))
		return true, nil
	}
	m.st.segments = &segmentMap{row: p.ID}
	return m.askSegments()
}

func (m *model) askSegments() (bool, tea.Cmd) {
	now, ask := m.st.segments, m.options.Actions.Segments
	if now == nil || ask == nil {
		return false, nil
	}
	m.segmentsAsked++
	now.request = m.segmentsAsked
	live := m.st.live.Row(now.row)
	if !mapsSegments(live) {
		now.Asking, now.Refusal = false, mapRefusal(live)
		return true, nil
	}
	now.Asking, now.Refusal = true, ""
	request, id, device := now.request, now.row.Process, m.st.live.DeviceUUID(now.row)
	return true, func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), segmentsTimeout)
		defer cancel()
		reported, err := ask(ctx, id, device)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no answer from its probe within " + quantity.Duration(segmentsTimeout))
		}
		return segmentsMsg{request, reported, err}
	}
}

// takeSegments shows the answer of the probe, unless a later request replaced it.
func (m *model) takeSegments(msg segmentsMsg) bool {
	now := m.st.segments
	if now == nil || now.request != msg.request {
		return false
	}
	now.Asking = false
	switch {
	case msg.err != nil && now.Map != nil:
		m.say(msg.err.Error()) // the old map stays, with its age
	case msg.err != nil:
		now.Refusal = text.Clean(msg.err.Error())
	default:
		now.Map = segments.New(msg.reported)
	}
	return true
}

// followSegments moves the map to the process that the cursor has moved to.
func (m *model) followSegments() tea.Cmd {
	if m.st.segments == nil || !m.st.Cursor.Active || m.st.segments.row == m.st.Cursor.ID {
		return nil
	}
	m.segmentsAsked++
	request := m.segmentsAsked
	m.st.segments = &segmentMap{row: m.st.Cursor.ID, request: request, View: segments.View{Asking: true}}
	return tea.Tick(segmentsPause, func(time.Time) tea.Msg { return segmentsDueMsg{request} })
}
