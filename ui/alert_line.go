package ui

import (
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
	"vramscope/ui/table"
)

// writeAlert writes the line above the keys. It is always there, so that
// nothing moves when an alarm comes: what the last action said, else how far
// one is, else that the screen shows the past, else the alert, else a hint or
// the bar's legend.
func writeAlert(l *cell.Line, st *state, lk *cell.Appearance) {
	s := &lk.Styles
	switch {
	case st.speaking():
		l.Skip(1)
		l.Put(s.Text, text.Cut(text.Clean(st.message), l.Width()-2, lk.Glyphs.Ellipsis))
	case st.progress != "":
		l.Skip(1)
		l.Put(s.Strong, text.Cut(text.Clean(st.progress), l.Width()-2, lk.Glyphs.Ellipsis))
	case st.standstill() != "":
		l.Put(s.Badge, st.standstill())
	case st.shown == nil:
		l.Skip(1)
		l.Put(s.Dim, "waiting for the first figures")
	case st.shown.Driver.State != snapshot.DriverOK && st.shown.Driver.State != "":
		l.Skip(1)
		l.Put(s.Warning, "!")
		l.Skip(1)
		l.Put(s.Text, text.Cut(noDriverWords(st.shown), l.Width()-4, lk.Glyphs.Ellipsis))
	case len(st.shown.Alerts) > 0:
		writeAlertSentence(l, st, lk)
	case st.dayOne(lk):
		writeDayOne(l, lk)
	default:
		writeCalm(l, st, lk)
	}
}

// speaking reports whether what the last action said is still to be read.
func (st *state) speaking() bool { return st.message != "" && st.now.Before(st.messageUntil) }

// standstill is what the line says, reversed, while the screen does not show
// now; nothing while it does, or has more urgent things to say.
func (st *state) standstill() string {
	switch {
	case st.shown == nil || st.speaking() || st.progress != "":
		return ""
	case !st.past.IsZero():
		return " " + pastWords(st) + " "
	case st.frozen:
		return " frozen at " + st.shown.Time.Format(time.TimeOnly) + "   p goes on "
	default:
		return ""
	}
}

// pastWords say which moment is looked at: "12:02:03, 2m14s ago   L live".
func pastWords(st *state) string {
	at := st.shown.Time
	text := at.Format(time.TimeOnly)
	if ago := st.now.Sub(at); ago > 0 {
		if ago >= 12*time.Hour {
			text = at.Format("Jan 2 15:04:05")
		}
		text += ", " + quantity.Duration(ago) + " ago"
	}
	return text + "   L live"
}

func noDriverWords(shown *snapshot.Snapshot) string {
	if shown.Driver.ProbesAnswering > 0 {
		return "no driver: these figures come from the probes alone"
	}
	if shown.Driver.State == snapshot.DriverStarting {
		return "the driver has not answered yet: GPUs that sleep need seconds to wake"
	}
	return "no driver: nothing to show until it is back"
}

// writeAlertSentence writes the alert that is chosen: the worst, or with "!"
// the next one.
func writeAlertSentence(l *cell.Line, st *state, lk *cell.Appearance) {
	s, g := &lk.Styles, &lk.Glyphs
	alerts := st.shown.Alerts
	n := ((st.alert % len(alerts)) + len(alerts)) % len(alerts)
	alert := &alerts[n]
	style := s.Warning
	if alert.Severity == snapshot.Urgent {
		style = s.Leak
	}
	l.Skip(1)
	l.Put(style, "!")
	l.Skip(1)
	counter := ""
	if len(alerts) > 1 && l.Width() >= 40 {
		counter = strconv.Itoa(n+1) + " of " + strconv.Itoa(len(alerts))
		if l.Width() >= fullWidth {
			counter += ", ! next"
		}
	}
	head, tail := alertSentence(alert, st, lk, l.Width())
	room := l.Width() - l.Used() - 1
	if counter != "" {
		room -= 3 + len(counter)
	}
	left := room - text.Width(head)
	// Where not all of an advice has room, its last clause is what to do, the
	// first why.
	if clauses := strings.Split(tail, "; "); text.Width(tail) > left && len(clauses) > 1 {
		tail = fitting([]string{": " + clauses[len(clauses)-1], clauses[0]}, left)
	}
	if text.Width(tail) > left {
		const worthCutting = 24
		if left < worthCutting {
			left = 0
		}
		tail = text.Cut(tail, left, g.Ellipsis)
	}
	head = text.Cut(head, room, g.Ellipsis)
	l.Put(style, head)
	l.Put(s.Text, tail)
	if counter != "" {
		l.To(max(min(counterAt(l.Width()), l.Width()-1-len(counter)), l.Used()+3))
		l.Put(s.Dim, counter)
	}
}

// counterAt is where "1 of 3" stands: on its own column, so that it does not
// move with the sentence.
func counterAt(width int) int {
	switch {
	case width >= 120:
		return 104
	case width >= fullWidth:
		return width - 19
	default:
		return width
	}
}

// alertSentence says what is wrong, and after it what to do about it.
func alertSentence(alert *snapshot.Alert, st *state, lk *cell.Appearance, width int) (head, tail string) {
	gpu := st.shown.GPU(alert.GPUUUID)
	if alert.Kind == snapshot.AlertFullIn && gpu != nil && gpu.FullIn != nil {
		return fullInSentence(alert, gpu, st, lk, width)
	}
	head = text.Clean(alert.Message)
	if gpu != nil && !strings.Contains(head, "GPU") {
		head = "GPU " + strconv.Itoa(gpu.Index) + " " + head
	}
	return head, st.advice(alert, lk)
}

// advice is what to do about an alert, nothing where it names a key that this
// run does not have, or a process that is somebody else's.
func (st *state) advice(alert *snapshot.Alert, lk *cell.Appearance) string {
	needs := keys.None
	switch {
	case alert.Advice == "":
		return ""
	case strings.HasPrefix(alert.Advice, "F "):
		needs = keys.Flush
	case strings.HasPrefix(alert.Advice, "a "):
		needs = keys.Attach
	}
	if needs != keys.None {
		p := st.shown.Row(alert.Row)
		if lk.Keys == nil || !lk.Keys.Has(needs) || p != nil && !table.Own(st.shown, p) {
			return ""
		}
	}
	return ": " + text.Clean(alert.Advice)
}

// fullInSentence is the alarm that matters most, with the wall clock and the
// process that grows where there is room.
func fullInSentence(alert *snapshot.Alert, gpu *snapshot.GPU, st *state, lk *cell.Appearance, width int) (head, tail string) {
	head = "GPU " + strconv.Itoa(gpu.Index) + " "
	if width < 66 {
		head += "full in " + cell.UntilFull(*gpu.FullIn)
	} else {
		head += cell.FullIn(*gpu.FullIn, &lk.Glyphs)
	}
	wide := width >= 120
	if wide {
		head += ", at " + st.shown.Time.Add(gpu.FullIn.Median).Format(time.TimeOnly)
	}
	p := st.shown.Row(alert.Row)
	if p == nil {
		return head, st.advice(alert, lk)
	}
	pid := strconv.Itoa(p.ID.Process.PID)
	grows := pid
	if rate, ok := p.GrowthPerSecond.Value(); ok && rate > 0 {
		grows += " " + cell.UserName(p) + " grows " + cell.PerSecond(rate)
		if !wide {
			grows = cell.UserName(p) + " " + pid + " grows " + cell.PerSecond(rate)
		}
	}
	returns, flushable := st.flushReturns(p, lk)
	switch {
	case wide && flushable:
		tail = ": PID " + grows + "; F there returns " + returns
	case wide:
		tail = ": PID " + grows
	case flushable:
		tail = ": F on " + pid + " returns " + returns
	default:
		tail = ": " + grows
	}
	return head, tail
}

// flushReturns is what F on a process would give back, false where F is not
// to be had: not bound, not allowed, or nothing to give.
func (st *state) flushReturns(p *snapshot.Process, lk *cell.Appearance) (string, bool) {
	amount, ok := p.Returnable.Value()
	if !ok || amount <= 0 || p.Probe != nil && p.Probe.Mismatch || lk.Keys == nil || !lk.Keys.Has(keys.Flush) || !table.Own(st.shown, p) {
		return "", false
	}
	if !p.ReturnableIsExact() {
		return "up to " + amount.String(), true
	}
	return amount.String(), true
}
