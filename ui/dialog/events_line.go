package dialog

import (
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// eventColumns are the widths of columns before the message; 0 leaves a column out.
type eventColumns struct{ clock, pid, user int }

func eventCells(width int) eventColumns {
	switch {
	case width >= framedWidth:
		return eventColumns{clock: len(time.TimeOnly), pid: 7, user: 8}
	default:
		return eventColumns{clock: len("15:04")}
	}
}

// write lays out the columns before the message.
func (c eventColumns) write(lk *cell.Appearance, clock, gpu, pid, user string) string {
	const gpuCells = 3
	l := cell.NewLine(c.clock + 1 + gpuCells + 1 + c.pid + 1 + c.user + 2)
	plain := themes.Style{}
	l.Left(plain, clock, c.clock, "")
	l.Skip(1)
	l.Right(plain, gpu, gpuCells)
	l.Skip(1)
	if c.pid > 0 {
		l.Right(plain, pid, c.pid)
		l.Skip(1)
	}
	if c.user > 0 {
		l.Left(plain, user, c.user, lk.Glyphs.Ellipsis)
		l.Skip(1)
	}
	return l.Unpadded()
}

func (e Events) line(cells eventColumns, event *snapshot.Event, room int) []cell.Span {
	gpu, pid, user := "", "", ""
	if event.GPUUUID != "" {
		gpu = strconv.Itoa(event.GPU)
	}
	if event.Row.Process.PID != 0 {
		pid, user = strconv.Itoa(event.Row.Process.PID), "?"
	}
	if event.User != "" {
		user = text.Clean(event.User)
	}
	return []cell.Span{
		{e.look.Styles.Dim, cells.write(e.look, e.clock(event), gpu, pid, user)},
		{e.style(event), cell.Scrolled(e.message(event), e.left, room, e.look.Glyphs.Ellipsis)},
	}
}

// message returns the last column, without the GPU and the process with which the message of an alert begins.
func (e Events) message(event *snapshot.Event) string {
	marker := "  "
	if event.Severity == snapshot.Urgent {
		marker = "! "
	}
	s := e.look.Glyphs.Words(event.Message)
	if event.GPUUUID != "" && (event.Kind == snapshot.EventAlarm || event.Kind == snapshot.EventCleared) {
		for _, sep := range [...]string{" ", ", "} {
			s = strings.TrimPrefix(s, "GPU "+strconv.Itoa(event.GPU)+sep)
		}
		if rest, named := strings.CutPrefix(s, "PID "+strconv.Itoa(event.Row.Process.PID)+" "); named {
			s = strings.TrimPrefix(rest, text.Clean(event.User)+" ")
		}
	}
	if words := e.taken[event.Time]; words != "" && event.Kind == snapshot.EventFlush {
		s = "flushed: " + words
	}
	if event.Decision != nil {
		s = e.look.Glyphs.Words(guardMessage(event))
	}
	if name := text.Clean(event.Name); name != "" {
		s = name + ": " + s
	}
	return marker + s
}

// noteTaken notes how much of the memory of the newest flushes was taken again. Only within snapshot.TakenWithin of a
// flush can that change.
func (e *Events) noteTaken(history snapshot.History) {
	const newest = 20
	before := e.taken
	e.taken = make(map[time.Time]string)
	for i := 0; i < len(e.log) && len(e.taken) < newest; i++ {
		event := &e.log[i]
		if event.Kind != snapshot.EventFlush || event.Decision != nil || event.Bytes.Or(0) <= 0 || history == nil {
			continue
		}
		words, known := before[event.Time]
		if !known || words == "" && e.now.Since(event.Time) <= snapshot.TakenWithin {
			words = taken(history, event)
		}
		e.taken[event.Time] = words
	}
}

// taken says how much of the freed memory the flushed process has taken again, "" if none.
func taken(history snapshot.History, event *snapshot.Event) string {
	const before = 15 * time.Second // the last sample before the flush may be so old
	key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: event.GPUUUID, Instance: event.Row.Instance, Row: event.Row}
	used, freed := history.Series(key, event.Time.Add(-before), event.Time, 1), event.Bytes.Or(0)
	if len(used) == 0 || !used[0].Known {
		return ""
	}
	for _, point := range history.Series(key, event.Time, event.Time.Add(snapshot.TakenWithin), 600) {
		if words := snapshot.TakenAgain(freed, quantity.Bytes(used[0].Max)-freed, quantity.Bytes(point.Max), point.Time.Sub(event.Time)); point.Known && words != "" {
			return words
		}
	}
	return ""
}

func (e Events) style(event *snapshot.Event) themes.Style {
	s := &e.look.Styles
	if event.Severity == snapshot.Urgent {
		return s.Leak
	}
	switch event.Kind {
	case snapshot.EventStarted, snapshot.EventEnded, snapshot.EventGPUBack, snapshot.EventDriverBack, snapshot.EventCleared:
		return s.Text
	case snapshot.EventGuard:
		if event.Decision == nil || event.Decision.Kind != snapshot.GuardTripped {
			return s.Text
		}
	case snapshot.EventFlush, snapshot.EventAttach, snapshot.EventSignal, snapshot.EventRescued:
		return s.Strong
	}
	return s.Warning
}

// guardMessage returns a decision of the guard, its figures first. The process has a column of its own.
func guardMessage(event *snapshot.Event) string {
	d, why := event.Decision, ""
	if d.Level != "" {
		why = " (" + d.Level + ")"
	}
	if d.Reason != "" {
		why += ": " + d.Reason
	}
	if d.Rule != "" {
		why += " [" + d.Rule + "]"
	}
	expected, known := d.Expected.Value()
	freed, measured := d.Measured.Value()
	switch {
	case d.Kind == snapshot.GuardWould && known:
		return "guard would free " + expected.String() + why
	case d.Kind == snapshot.GuardFlushed && known && measured:
		return "guard freed " + freed.String() + " of " + expected.String() + why
	case d.Kind == snapshot.GuardRefused:
		return "guard could not flush" + why
	default:
		return strings.Replace(event.Message, "PID "+strconv.Itoa(event.Row.Process.PID)+" ", "", 1)
	}
}
