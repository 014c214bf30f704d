package ui

import (
	"context"
	"strconv"
	"time"

	"vramscope/action/flush"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/keys"

	tea "charm.land/bubbletea/v2"
)

// A flush runs in commands, while the screen is updated:
//
//	y ─→ startFlush ─┬─ cmd: one request after the other ──→ flushedMsg ─→ message line
//	                 └─ cmd: newest step (one slot) ──────→ flushStepMsg ─→ progress line
//	Esc ─→ stopFlush: no further request, no further step

// flushRun is a running flush. At most one runs at a time.
type flushRun struct {
	stop      context.CancelFunc
	steps     chan string // the newest progress: a channel with one slot, closed at the end
	stoppable bool        // the flush can be stopped between steps or processes
	stopped   bool
}

type (
	// flushStepMsg is the progress of the flush.
	flushStepMsg struct{ text string }
	// flushedMsg is the result of the flush in several wordings, the longest first.
	flushedMsg struct {
		wordings []string
		freed    freed
	}
	// serverMsg says what the server of a row's process would do.
	serverMsg struct {
		ids    []snapshot.RowID
		opens  bool // the question opens only with this message
		result flush.Result
		err    error
	}
)

// openFlush opens the question about the tagged processes or the process under the cursor, or says why not.
func (m *model) openFlush() (bool, tea.Cmd) {
	var ids []snapshot.RowID
	for _, id := range m.rowIDs() {
		if m.st.Tags[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		p := m.needCursor()
		if p == nil {
			return false, nil
		}
		ids = append(ids, p.ID)
	}
	if m.flush != nil || m.attaching {
		return m.say("one action at a time: " + map[bool]string{true: "a flush is running", false: "a probe is being attached"}[m.flush != nil]), nil
	}
	d := dialog.NewFlush(&m.look, m.st.screen(), ids)
	var asking tea.Cmd
	opens := len(ids) == 1 && d.Willing() == 0
	if ask := m.options.Actions.Server; ask != nil && len(ids) == 1 {
		asking = func() tea.Msg {
			result, err := ask(context.Background(), ids[0].Process)
			return serverMsg{ids, opens, result, err}
		}
	}
	switch {
	case opens && asking == nil:
		m.say(m.withAdvice(d.Only()))
	case opens:
		m.say("asking its server, if it is one")
	}
	return opens || m.openOverlay(d), asking
}

// takeServer adds to the question what the server would do, or opens the question that waits for that.
func (m *model) takeServer(msg serverMsg) bool {
	d, open := m.st.overlay.(dialog.Flush)
	if !open {
		d = dialog.NewFlush(&m.look, m.st.screen(), msg.ids)
	}
	p, _, _ := d.Only()
	d = d.Fill(msg.result, msg.err)
	switch {
	case p.ID != msg.ids[0] || !open && (!msg.opens || m.st.Cursor.ID != msg.ids[0] || m.st.overlay != nil || m.flush != nil || m.attaching):
		return false
	case open:
		m.st.overlay = d
	case d.Willing() > 0:
		return m.openOverlay(d)
	default:
		m.say(m.withAdvice(d.Only()))
	}
	return true
}

func (m *model) withAdvice(p *snapshot.Process, ended bool, refusal string) string {
	switch {
	case ended:
		return "refused: PID " + strconv.Itoa(p.ID.Process.PID) + " has ended"
	case p.Probe == nil && m.look.Keys.Has(keys.Attach) && !p.ID.Process.Foreign() && m.st.shown.Own(p):
		return refusal + "; a attaches one"
	default:
		return refusal
	}
}

// greyed reports whether key is F or a and would be refused on the row under the cursor: the key is drawn dim.
func (st *state) greyed(key string) bool {
	if !st.Cursor.Active || st.live == nil || st.overlay != nil {
		return false
	}
	p := st.live.Row(st.Cursor.ID)
	switch key {
	case "F":
		return len(st.Tags) == 0 && (p == nil || dialog.FlushRefusal(p, st.live.Host.User) != "")
	case "a":
		return p == nil || attachRefusal(p) != "" || !st.shown.Own(p)
	default:
		return false
	}
}

// startFlush flushes after y, or makes a dry run after d. Actions.Flush checks identities again.
func (m *model) startFlush(d dialog.Flush, dryRun bool) tea.Cmd {
	act, requests := m.options.Actions.Flush, d.Requests(dryRun)
	if act == nil || m.st.readOnly || len(requests) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &flushRun{stop: cancel, steps: make(chan string, 1)}
	run.stoppable = !dryRun && (len(requests) > 1 || d.InSteps())
	m.flush = run
	m.st.progress = flushing(requests, 0, flush.Result{}) + run.escape()
	work := func() tea.Msg {
		defer cancel()
		defer close(run.steps)
		wordings, freed := flushAll(ctx, act, requests, run)
		return flushedMsg{wordings, freed}
	}
	return tea.Batch(work, run.await)
}

// freed is memory that a flush of one process has freed. The process may take it again.
type freed struct {
	process process.Identity
	amount  quantity.Bytes
	left    quantity.Bytes // what the process used right after the flush, by the driver
	at      time.Time
}

// noteTaken shows a message if the process takes the freed memory again.
func (m *model) noteTaken(s *snapshot.Snapshot) {
	f := &m.freed
	if f.amount <= 0 {
		return
	}
	var used quantity.Bytes
	known := false
	for p := range s.ProcessRows(f.process) {
		if v, ok := p.Used.Value(); ok {
			used, known = used+v, true
		}
	}
	after := s.Time.Sub(f.at)
	words := snapshot.TakenAgain(f.amount, f.left, used, after)
	if known && words != "" {
		m.say("flushed " + strconv.Itoa(f.process.PID) + ": " + words)
	}
	if !known || words != "" || after > snapshot.TakenWithin {
		*f = freed{}
	}
}

func flushAll(ctx context.Context, act func(context.Context, flush.Request) (flush.Result, error), requests []flush.Request, run *flushRun) ([]string, freed) {
	var done []flush.Result
	var failure string
	for i, request := range requests {
		if i > 0 && ctx.Err() != nil {
			break
		}
		request.Progress = func(r flush.Result) { run.report(flushing(requests, i, r) + run.escape()) }
		if i > 0 {
			request.Progress(flush.Result{})
		}
		result, err := act(ctx, request)
		switch {
		case err == nil:
			done = append(done, result)
		case failure == "":
			failure = text.Clean(err.Error())
		}
	}
	switch {
	case len(requests) > 1:
		return together(done, len(requests), failure), freed{}
	case failure != "":
		return []string{failure}, freed{}
	}
	wordings := done[0].Sentences(strconv.Itoa(requests[0].Process.PID))
	if _, left := done[0].Used(); left.Known() && !requests[0].DryRun && done[0].Server == "" {
		return wordings, freed{requests[0].Process, done[0].Freed(), left.Or(0), time.Time{}}
	}
	return wordings, freed{}
}

// together returns the result of several flushes in words, the longest wording first.
func together(done []flush.Result, asked int, failure string) []string {
	if len(done) == 0 {
		return []string{failure}
	}
	sum := flush.Sum(done)
	switch some := strconv.Itoa(len(done)) + " of " + strconv.Itoa(asked); {
	case failure != "" && sum.Differs():
		return []string{sum.Sentence(some) + "; " + failure}
	case failure != "":
		return []string{"flushed " + some + ", freed " + max(sum.Freed(), 0).String() + "; " + failure}
	case len(done) < asked:
		return sum.Sentences(some)
	default:
		return sum.Sentences(strconv.Itoa(asked) + " processes")
	}
}

func flushing(requests []flush.Request, at int, r flush.Result) string {
	verb := "flushing "
	switch {
	case r.Server != "":
		return r.Sentence("")
	case flush.OfServer(requests[at].Level):
		verb = "asking the server of "
	case requests[at].DryRun:
		verb = "dry run of "
	}
	text := verb + strconv.Itoa(requests[at].Process.PID)
	if len(requests) > 1 {
		text += ", " + strconv.Itoa(at+1) + " of " + strconv.Itoa(len(requests))
	}
	if r.Step > 0 {
		text += ": step " + strconv.Itoa(r.Step) + " of " + strconv.Itoa(r.Steps) + ", freed " + max(r.Freed(), 0).String() + " of " + max(r.Freed(), r.Returnable).String()
	}
	return text
}

// escape returns the words about Esc for the progress line; "" if the flush cannot be stopped.
func (r *flushRun) escape() string {
	if r.stoppable {
		return "   Esc stops it here"
	}
	return ""
}

func (r *flushRun) report(text string) {
	select {
	case <-r.steps:
	default:
	}
	select {
	case r.steps <- text:
	default:
	}
}

// await is a command that waits for the next progress.
func (r *flushRun) await() tea.Msg {
	if text, ok := <-r.steps; ok {
		return flushStepMsg{text}
	}
	return nil
}

func (m *model) takeStep(msg flushStepMsg) (bool, tea.Cmd) {
	if m.flush == nil {
		return false, nil
	}
	if !m.flush.stopped {
		m.st.progress = msg.text
	}
	return true, m.flush.await
}

func (m *model) takeFlushed(msg flushedMsg) bool {
	if d, ok := m.st.overlay.(dialog.Flush); ok {
		m.st.overlay = d.DryRunDone()
	}
	m.flush, m.st.progress = nil, ""
	m.freed = msg.freed
	m.freed.at = m.options.Now()
	return m.say(cell.Fitting(msg.wordings, m.st.width-2))
}

func (m *model) stopFlush() bool {
	if m.flush == nil || !m.flush.stoppable || m.flush.stopped {
		return false
	}
	m.flush.stopped = true
	m.flush.stop()
	m.st.progress = "stopping after this step"
	return true
}
