package dialog

import (
	"slices"
	"strconv"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Events is the event log up to the moment that the screen shows, without the guard's decisions to do nothing.
type Events struct {
	look  *cell.Appearance
	log   []snapshot.Event // newest first
	now   cell.Moment
	until time.Time // zero: up to now
	shown []int     // by line of the list: the index of an event, or dayLine
	at    int       // the event under the cursor
	top   int       // the first line in view
	left  int       // cells by which the messages are scrolled

	longest int // cells of the longest message

	taken map[time.Time]string // by the time of a flush: how much of the freed memory was taken again
}

// dayLine is a line with the day of the events below it.
const dayLine = -1

// longLog is a history that may have more events than can be read for each frame.
type longLog interface {
	EventsUntil(t time.Time, limit int) []snapshot.Event
}

// maxEvents is how many events of a longLog are listed.
const maxEvents = 5000

func NewEvents(lk *cell.Appearance, now *Screen) Events { return Events{look: lk}.following(now) }

// following returns the list with the newest log. A cursor below the newest event stays on its event.
func (e Events) following(now *Screen) Events {
	e.now, e.until = cell.Moment(now.Now), now.Past
	old := e.log
	e.log = nil
	if long, ok := now.History.(longLog); ok {
		until := e.until
		if until.IsZero() {
			until = now.Now
		}
		e.log = long.EventsUntil(until, maxEvents)
	} else if now.History != nil {
		e.log = now.History.Events(0)
	}
	e.log = slices.DeleteFunc(slices.Clone(e.log), func(event snapshot.Event) bool { return event.NothingDone() })
	for !e.until.IsZero() && len(e.log) > 0 && e.log[0].Time.After(e.until) {
		e.log = e.log[1:]
	}
	e.noteTaken(now.History)
	if e.at > 0 && e.at < len(old) {
		if at := found(e.log, old, e.at); at >= 0 {
			e.at, e.top = at, e.top+at-e.at
		}
	}
	e.at = max(min(e.at, len(e.log)-1), 0)
	e.longest, e.shown = 0, make([]int, 0, len(e.log)+8)
	for i := range e.log {
		if e.startsDay(i) {
			e.shown = append(e.shown, dayLine)
		}
		e.shown = append(e.shown, i)
		e.longest = max(e.longest, text.Width(e.message(&e.log[i])))
	}
	return e
}

// found returns the index in a log of the event old[at], -1 if the event is not there. Of several equal events it is
// the one with as many of them after it: new events come first.
func found(log, old []snapshot.Event, at int) int {
	equal := func(a, b *snapshot.Event) bool {
		return a.Time.Equal(b.Time) && a.Kind == b.Kind && a.Row == b.Row && a.GPUUUID == b.GPUUUID && a.Message == b.Message
	}
	after := 0
	for i := at + 1; i < len(old); i++ {
		if equal(&old[i], &old[at]) {
			after++
		}
	}
	for i := len(log) - 1; i >= 0; i-- {
		if equal(&log[i], &old[at]) {
			if after == 0 {
				return i
			}
			after--
		}
	}
	return -1
}

func (e Events) Follow(now *Screen) Overlay { return e.following(now) }

// Size implements Overlay: all lines, so that the frame does not change.
func (e Events) Size(int) int { return allLines }

func (e Events) Press(name string, width, height int) (Overlay, Outcome) {
	id := e.look.Keys.Match(name, keys.InOverlay, false)
	if name == "enter" && e.explains() {
		return e.why(), Explained
	}
	if id == keys.Back || name == "E" || name == "q" || name == "enter" {
		return e, Closed
	}
	if name == "left" || name == "right" {
		return e.sideways(name == "right", width), Handled
	}
	rows := e.lines(width, height)
	at, moved := scroll(e.at).moved(id, len(e.log)+rows-1, max(rows, 1)) // at most to the last event
	if !moved {
		return e, Ignored
	}
	e.at = max(min(int(at), len(e.log)-1), 0)
	e.top = e.view(rows)
	return e, Handled
}

func (e Events) why() Why {
	w := NewWhy(e.look, e.log[e.at])
	w.list = &e
	return w
}

// NewestIncident returns the newest incident of the list, nil if it has none.
func (e Events) NewestIncident() *snapshot.Incident {
	for i := range e.log {
		if incident, is := snapshot.IncidentOf(e.log[i]); is {
			return &incident
		}
	}
	return nil
}

// On returns the list with the cursor on an event, or on the newest if the list does not have the event.
func (e Events) On(event *snapshot.Event) Events {
	e.at = max(slices.Index(e.log, *event), 0)
	return e
}

// explains reports whether Enter explains the event under the cursor.
func (e Events) explains() bool {
	return len(e.log) > 0 && e.log[e.at].Kind == snapshot.EventOutOfMemory
}

// view returns the first line to show. The cursor's line is always in view.
func (e Events) view(rows int) int {
	line := slices.Index(e.shown, e.at)
	top := min(e.top, line, max(len(e.shown)-rows, 0))
	if e.at == 0 {
		top = 0 // with the day above the first event
	}
	return max(top, line-rows+1, 0)
}

// sideStep is how many cells an arrow key moves the messages.
const sideStep = 8

// sideways scrolls the messages, at most to the end of the longest.
func (e Events) sideways(right bool, width int) Events {
	e.left = max(e.left-sideStep, 0)
	if right {
		e.left = min(e.left+2*sideStep, e.beyond(width))
	}
	return e
}

// beyond returns how many cells of the longest message do not fit.
func (e Events) beyond(width int) int { return max(e.longest-e.room(width), 0) }

func (e Events) room(width int) int {
	return width - 3 - text.Width(eventCells(width).write(e.look, "", "", "", ""))
}

// startsDay reports whether event i is on another day than the event above or, for the first event, than today.
func (e Events) startsDay(i int) bool {
	above := time.Time(e.now)
	if i > 0 {
		above = e.log[i-1].Time
	}
	zone := time.Time(e.now).Location()
	y, m, d := above.In(zone).Date()
	y2, m2, d2 := e.log[i].Time.In(zone).Date()
	return y != y2 || m != m2 || d != d2
}

func (e Events) Render(width, height int) []string {
	s := &e.look.Styles
	var lines [][]cell.Span
	cells := eventCells(width)
	foot := e.foot(width, height)
	if height < minFramed && len(foot) > 0 {
		for i, line := range foot {
			foot[i] = cell.Indented(e.look, width, cell.Span{s.Text, line})
		}
		return cell.Fill(foot, width, height)
	}
	if len(e.log) == 0 {
		lines = e.look.Paragraph(cell.Span{}, s.Dim, "no events since vramscope was started. Listed here: processes that start and exit, "+
			"alerts, lost GPUs, out-of-memory errors, flushes, attached probes, signals.", width-3, 4)
	} else {
		lines = append(lines, []cell.Span{{s.Header, cells.write(e.look, "TIME", "GPU", "PID", "USER") + "EVENT"}})
		rows := e.lines(width, height)
		lines = append(lines, e.visible(cells, rows, e.room(width))...)
		for len(foot) > 0 && len(lines) <= height-3-len(foot) {
			lines = append(lines, nil)
		}
		for _, text := range foot {
			lines = append(lines, []cell.Span{{s.Strong, text}})
		}
	}
	right := "Esc closes"
	if e.explains() {
		right = "Enter explains, " + right
	}
	if len(e.shown) > e.lines(width, height) {
		right = strconv.Itoa(e.at+1) + "/" + strconv.Itoa(len(e.log)) + ", j k move, " + right
	}
	if len(foot) == 0 && (e.left > 0 || e.beyond(width) > 0) {
		keys := "← → more, "
		if e.look.Glyphs.ASCII {
			keys = "Lt Rt more, "
		}
		right = keys + right
	}
	title := "Events"
	if !e.until.IsZero() {
		title = "Events until " + e.now.Clock(e.until)
	}
	return box{look: e.look, title: title, right: right, lines: lines}.Render(width, height)
}

func (e Events) visible(cells eventColumns, rows, room int) [][]cell.Span {
	s, g := &e.look.Styles, &e.look.Glyphs
	lines := make([][]cell.Span, 0, rows)
	top := e.view(rows)
	for at := top; at < min(top+rows, len(e.shown)); at++ {
		i := e.shown[at]
		if i == dayLine {
			day := e.log[e.shown[at+1]].Time.In(time.Time(e.now).Location()).Format("Monday, January 2")
			lines = append(lines, []cell.Span{{s.Rule, g.Rule + g.Rule + " "}, {s.Dim, day}, {s.Rule, " " + g.Rule + g.Rule}})
			continue
		}
		line := e.line(cells, &e.log[i], room)
		if i == e.at {
			line = marked(s.Cursor, line)
		}
		lines = append(lines, line)
	}
	return lines
}
