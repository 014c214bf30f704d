package ui

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
)

// incidents are the failures of the last day, and which of them this user has seen.
//
//	History.Events ─ note ─→ found ─┬─ unread ─→ badge, alert line, box sums
//	W, M, Enter in E ─ see ─→ seen ─┘            causeMsg ─→ causes
type incidents struct {
	found  map[string]snapshot.Incident // by key: the newest incident with this key
	seen   map[string]time.Time         // by key: the time up to which the user has seen its incidents
	causes map[string]string            // by key: the cause in words, if one was found
	newest snapshot.Event               // the newest event when the history was last read
	read   time.Time                    // when all events were read last
	unread []snapshot.Incident          // newest first
}

// causeMsg is the cause of an out-of-memory error: "leak 25M/s".
type causeMsg struct{ key, cause string }

const (
	// leadTime is how long an unread incident is on the alert line.
	leadTime = 20 * time.Minute
	// newEvents is how many events are read when there is a new one.
	newEvents = 64
	// allEvents is the time between readings of all events, because an earlier history may have been added.
	allEvents = 10 * time.Second
)

// noteIncidents notes the new incidents of the history, and seeks the causes of out-of-memory errors. In a replay
// nothing is unread, because a replay has no present.
func (m *model) noteIncidents() tea.Cmd {
	n, history := &m.st.incidents, m.st.history
	if history == nil || m.st.replay {
		return nil
	}
	limit, newest := newEvents, history.Events(1)
	switch {
	case m.st.now.Sub(n.read) >= allEvents:
		limit, n.read = 0, m.st.now
	case len(newest) == 0 || newest[0] == n.newest:
		return nil
	}
	var causes []tea.Cmd
	for _, event := range history.Events(limit) {
		incident, is := snapshot.IncidentOf(event)
		key := incident.Key()
		if !is || m.st.now.Sub(event.Time) > snapshot.IncidentTime || !event.Time.After(n.found[key].Time) {
			continue
		}
		n.found[key] = incident
		if event.Kind == snapshot.EventOutOfMemory && event.Time.After(n.seen[key]) {
			causes = append(causes, m.findCause(&incident))
		}
	}
	if len(newest) > 0 {
		n.newest = newest[0]
	}
	n.count(m.st.now)
	return tea.Batch(causes...)
}

// count forgets old incidents and lists the unread ones.
func (n *incidents) count(now time.Time) {
	maps.DeleteFunc(n.found, func(_ string, i snapshot.Incident) bool { return now.Sub(i.Time) > snapshot.IncidentTime })
	n.unread = nil
	for key, i := range n.found {
		if i.Time.After(n.seen[key]) {
			n.unread = append(n.unread, i)
		}
	}
	sorted.Stable(n.unread, func(a, b snapshot.Incident) int { return b.Time.Compare(a.Time) })
}

func (m *model) findCause(i *snapshot.Incident) tea.Cmd {
	history, event, key := m.st.history, i.Event, i.Key()
	return func() tea.Msg {
		verdict := why.Judge(why.Gather(history, &event))
		return causeMsg{key, verdict.Brief(event.Time)}
	}
}

// see notes that the user has seen incidents; its command stores that.
func (m *model) see(seen ...snapshot.Incident) tea.Cmd {
	n := &m.st.incidents
	if m.st.replay || len(seen) == 0 {
		return nil
	}
	n.seen = maps.Clone(n.seen) // KeepSeen may still read the old map
	for i := range seen {
		n.seen[seen[i].Key()] = seen[i].Time
	}
	n.count(m.st.now)
	keep, all := m.options.KeepSeen, n.seen
	if keep == nil {
		return nil
	}
	return func() tea.Msg {
		if err := keep(all); err != nil {
			return actedMsg{"not kept as seen: " + err.Error()}
		}
		return nil
	}
}

// seeAll handles M: it marks all incidents as read.
func (m *model) seeAll() (bool, tea.Cmd) {
	unread := m.st.incidents.unread
	if len(unread) == 0 {
		return m.say("nothing is unread"), nil
	}
	m.say("read: " + text.Plural(len(unread), "incident", "incidents") + "; E lists what happened")
	return true, m.see(unread...)
}

// openIncident handles W: in the present it opens the newest unread incident; otherwise, or if none is unread, the newest
// up to the shown moment. Only an out-of-memory error is explained; any other incident is shown among the events.
func (m *model) openIncident() (bool, tea.Cmd) {
	list := dialog.NewEvents(&m.look, m.st.screen())
	incident := list.NewestIncident()
	if unread := m.st.incidents.unread; len(unread) > 0 && m.st.past.IsZero() {
		incident = &unread[0]
	}
	if incident == nil {
		return m.say("no incident: no error, lost GPU, killed process or guard rule turned off"), nil
	}
	seen := m.see(*incident)
	if incident.Kind != snapshot.EventOutOfMemory {
		return m.openOverlay(list.On(&incident.Event)), seen
	}
	page := dialog.NewWhy(&m.look, incident.Event)
	m.openOverlay(page)
	return true, tea.Batch(seen, m.explain(page))
}

// opened returns the newest unread incident or, if none is unread, the newest that was found.
func (n *incidents) opened() *snapshot.Incident {
	if len(n.unread) > 0 {
		return &n.unread[0]
	}
	var newest *snapshot.Incident
	for _, i := range n.found {
		if newest == nil || i.Time.After(newest.Time) {
			newest = &i
		}
	}
	return newest
}

// leading returns the unread incident for the alert line, nil in the past or if the newest is older than leadTime.
func (st *state) leading() *snapshot.Incident {
	if u := st.incidents.unread; len(u) > 0 && st.past.IsZero() && st.now.Sub(u[0].Time) < leadTime {
		return &u[0]
	}
	return nil
}

// headlines returns the alerts for the alert line, the worst first: urgent alerts, the newest
// unread incident, other alerts. An alert about that incident is shown instead of it.
func (st *state) headlines() []snapshot.Alert {
	alerts, incident := st.shown.Alerts, st.leading()
	if incident == nil || slices.ContainsFunc(alerts, func(a snapshot.Alert) bool { return incident.About(&a) }) {
		return alerts
	}
	at := slices.IndexFunc(alerts, func(a snapshot.Alert) bool { return a.Severity != snapshot.Urgent })
	if at < 0 {
		at = len(alerts)
	}
	return slices.Insert(slices.Clone(alerts), at, snapshot.Alert{
		Kind: alertIncident, Severity: snapshot.Urgent, GPU: incident.GPU, GPUUUID: incident.GPUUUID, Row: incident.Row,
	})
}

// alertIncident marks an unread incident among the alerts of the alert line.
const alertIncident snapshot.AlertKind = "incident"

// incidentSentence returns what happened, and to whom and why: "GPU 3 OUT OF MEMORY 23:48", "  t.py exited: leak 25M/s".
func incidentSentence(i *snapshot.Incident, st *state, lk *cell.Appearance) (head, tail string) {
	if i.GPUUUID != "" {
		head = "GPU " + strconv.Itoa(i.GPU) + " "
	}
	head += strings.ToUpper(i.Words) + " " + i.Time.Format("15:04")
	tail = "  " + text.Clean(cmp.Or(i.Name, "PID "+strconv.Itoa(i.Row.Process.PID)))
	switch i.Kind {
	case snapshot.EventEnded:
		return head, tail + " " + lk.Glyphs.Words(text.Clean(i.Message))
	case snapshot.EventOutOfMemory:
	default:
		return head, "  " + lk.Glyphs.Words(text.Clean(strings.TrimPrefix(i.Message, i.Words+": "))) // the message may begin with the words in head
	}
	if st.live.Row(i.Row) == nil {
		tail += " exited"
	}
	if cause := st.incidents.causes[i.Key()]; cause != "" {
		tail += ": " + cause
	}
	return head, tail
}

// unreadSpans returns "1 unread: out of memory 23:48   W why", nil if none is unread.
func (st *state) unreadSpans(s *themes.Styles) []cell.Span {
	unread := st.incidents.unread
	if len(unread) == 0 {
		return nil
	}
	return []cell.Span{
		{s.Warning, strconv.Itoa(len(unread)) + " unread: " + unread[0].Words + " " + unread[0].Time.Format("15:04")},
		{s.Text, "   "}, {s.Key, "W"}, {s.Dim, " why"},
	}
}
