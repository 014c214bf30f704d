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
)

// writeAlert writes the first of these: a message, an action's progress, a frozen or past moment, missing figures or
// driver, whether a job fits, an alert, the hint about probes, the legend.
func writeAlert(l *cell.Line, st *state, lk *cell.Appearance) {
	s := &lk.Styles
	switch {
	case st.speaking():
		l.Skip(1)
		l.Put(s.Text, cell.CutWords(lk.Glyphs.Words(st.message), l.Width()-2, lk.Glyphs.Ellipsis))
	case st.progress != "":
		l.Skip(1)
		l.Put(s.Strong, text.Cut(lk.Glyphs.Words(st.progress), l.Width()-2, lk.Glyphs.Ellipsis))
	case st.standstill() != "":
		l.Put(s.Badge, st.standstill())
	case st.shown == nil:
		l.Skip(1)
		l.Put(s.Dim, "waiting for the first figures")
	case st.noDriver():
		l.Skip(1)
		l.Put(s.Warning, "!")
		l.Skip(1)
		l.Put(s.Text, text.Cut(noDriverWords(st.shown), l.Width()-4, lk.Glyphs.Ellipsis))
	case st.asksFit():
		l.Skip(1)
		l.Put(s.Text, cell.CutWords(st.fitWords(l.Width()-2), l.Width()-2, lk.Glyphs.Ellipsis))
	case len(st.headlines()) > 0:
		writeAlertSentence(l, st, lk)
	case st.dayOne(lk):
		writeDayOne(l, st, lk)
	default:
		writeLegend(l, st, lk)
	}
}

// speaking reports whether a message is shown.
func (st *state) speaking() bool { return st.message != "" && st.now.Before(st.messageUntil) }

// standstill returns the words of a screen that is frozen or shows the past, else "".
func (st *state) standstill() string {
	switch {
	case st.shown == nil || st.speaking() || st.progress != "":
		return ""
	case !st.past.IsZero():
		return " " + pastWords(st) + " "
	case st.frozen:
		return " frozen at " + st.shown.Time.Format(time.TimeOnly) + "   p resumes "
	default:
		return ""
	}
}

// pastWords names the moment that is shown: "12:02:03, 2m14s ago   L live".
func pastWords(st *state) string {
	at := st.shown.Time
	text := at.Format(time.TimeOnly)
	if ago := st.now.Sub(at); ago > 0 {
		if at.Format(time.DateOnly) != st.now.Format(time.DateOnly) {
			text = at.Format("Jan 2 15:04:05")
		}
		text += ", " + quantity.Duration(ago) + " ago"
	}
	if st.replay {
		return text + "   L newest"
	}
	return text + "   L live"
}

func noDriverWords(shown *snapshot.Snapshot) string {
	if shown.Driver.ProbesAnswering > 0 {
		return "no driver: probe data only"
	}
	if shown.Driver.State == snapshot.DriverStarting {
		return "the driver has not answered yet: sleeping GPUs need seconds to wake"
	}
	return "no driver: nothing to show until it returns"
}

func writeAlertSentence(l *cell.Line, st *state, lk *cell.Appearance) {
	s, g := &lk.Styles, &lk.Glyphs
	alerts := st.headlines()
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
	head, tail, explained := alertSentence(alert, st, lk, l.Width())
	room := l.Width() - l.Used() - 1
	if counter != "" {
		room -= 3 + len(counter)
	}
	if explained {
		room -= len(whyHint) + 3
	}
	left := room - text.Width(head)
	// The last clause of an advice says what to do: it stays if not all clauses fit.
	if clauses := strings.Split(tail, "; "); text.Width(tail) > left && len(clauses) > 1 {
		tail = cell.Fitting([]string{": " + clauses[len(clauses)-1], clauses[0]}, left)
	}
	if text.Width(tail) > left {
		const worthCutting = 24
		if left < worthCutting {
			left = 0
		}
		tail = cell.CutWords(tail, left, g.Ellipsis)
	}
	head = cell.CutWords(head, room, g.Ellipsis)
	l.Put(style, head)
	l.Put(s.Text, tail)
	if explained {
		l.Skip(3)
		l.Put(s.Key, whyHint[:1])
		l.Put(s.Dim, whyHint[1:])
	}
	if counter != "" {
		l.To(max(min(counterAt(l.Width()), l.Width()-1-len(counter)), l.Used()+3))
		l.Put(s.Dim, counter)
	}
}

const whyHint = "W why"

// counterAt returns the column of "1 of 3", the same for every sentence that is not too long.
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

func alertSentence(alert *snapshot.Alert, st *state, lk *cell.Appearance, width int) (head, tail string, explained bool) {
	if i := st.leading(); i != nil && (alert.Kind == alertIncident || i.About(alert)) {
		head, tail = incidentSentence(i, st, lk)
		return head, tail, true
	}
	gpu := st.shown.GPU(alert.GPUUUID)
	if alert.Kind == snapshot.AlertFullIn && gpu != nil && gpu.FullIn != nil {
		head, tail = fullInSentence(alert, gpu, st, lk, width)
		return head, tail, false
	}
	head = lk.Glyphs.Words(alert.Message)
	if gpu != nil && !strings.Contains(head, "GPU") {
		head = "GPU " + strconv.Itoa(gpu.Index) + " " + head
	}
	if alert.Kind == snapshot.AlertOutOfMemory {
		opened := st.incidents.opened()
		explained = opened != nil && opened.About(alert)
	}
	return head, st.advice(alert, lk), explained
}

// advice returns what to do about an alert; "" if its key is not bound or not allowed.
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
		if lk.Keys == nil || !lk.Keys.Has(needs) || p != nil && !st.shown.Own(p) {
			return ""
		}
	}
	return ": " + lk.Glyphs.Words(alert.Advice)
}

// fullInSentence returns the sentence about a GPU that fills up, with the process if known and, on a wide screen,
// with the time of day.
func fullInSentence(alert *snapshot.Alert, gpu *snapshot.GPU, st *state, lk *cell.Appearance, width int) (head, tail string) {
	head = "GPU " + strconv.Itoa(gpu.Index) + " "
	if width < 66 {
		head += gpu.FullIn.Brief()
	} else {
		head += gpu.FullIn.Words(lk.Glyphs.EnDash)
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
	remedy := st.remedy(p, lk)
	switch {
	case wide && remedy != "":
		tail = ": PID " + grows + "; F there " + remedy
	case wide:
		tail = ": PID " + grows
	case remedy != "":
		tail = ": F on " + pid + " " + remedy
	default:
		tail = ": " + grows
	}
	return head, tail
}

// remedy returns what F on a process would achieve, "" if F cannot flush it or hardly anything would stay free.
func (st *state) remedy(p *snapshot.Process, lk *cell.Appearance) string {
	amount, ok := p.Returnable.Value()
	if !ok || amount <= 0 || p.Probe != nil && p.Probe.Mismatch || lk.Keys == nil || !lk.Keys.Has(keys.Flush) || !st.shown.Own(p) {
		return ""
	}
	return snapshot.LastingOf(st.history, st.shown.Time, p).Remedy(p)
}

// asksFit reports whether the alert line says if a job fits: while its size is typed, and then while there is no
// urgent alert.
func (st *state) asksFit() bool {
	if st.typing != nil && st.typing.kind == typingNeed {
		return true
	}
	return st.fit != nil && (len(st.shown.Alerts) == 0 || st.shown.Alerts[0].Severity != snapshot.Urgent)
}

func (st *state) fitWords(cells int) string {
	if st.fit == nil {
		return "how much will the job use on a GPU? 20G, 512M, 2x40G for two GPUs"
	}
	need := text.Clean(st.need)
	return cell.Fitting([]string{st.fit.Words(need, true), st.fit.Words(need, false)}, cells)
}
