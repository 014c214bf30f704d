package ui

import (
	"context"
	"slices"
	"strconv"

	"vramscope/action/flush"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
	"vramscope/ui/keys"
	"vramscope/ui/table"

	tea "charm.land/bubbletea/v2"
)

// A flush takes its time, in steps even seconds, and the screen lives on
// meanwhile:
//
//	y ─→ startFlush ─┬─ cmd: one request after the other ──→ flushedMsg ─→ message line
//	                 └─ cmd: newest step (one slot) ──────→ flushStepMsg ─→ progress line
//	Esc ─→ stopFlush: no further request, no further step

// flushRun is the flush that is under way. There is one at a time.
type flushRun struct {
	stop      context.CancelFunc
	steps     chan string // how far it is; one slot, closed at the end
	dryRun    bool
	stoppable bool // it has more than one step, or process
	stopped   bool
}

// flushAction is Actions.Flush.
type flushAction = func(context.Context, flush.Request) (flush.Result, error)

type (
	// flushStepMsg is how far the flush is.
	flushStepMsg struct{ text string }
	// flushedMsg is what came of it, in wordings, the fullest first.
	flushedMsg struct{ wordings []string }
)

// openFlush asks about the process under the cursor, or the tagged ones; or it
// says why none of them can be asked.
func (m *model) openFlush() bool {
	var ids []snapshot.RowID
	for _, id := range m.rowIDs() {
		if m.st.Tags[id] {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		p := m.needCursor()
		if p == nil {
			return false
		}
		ids = append(ids, p.ID)
	}
	if m.flush != nil {
		m.say("one flush at a time: another is under way")
		return true
	}
	if m.attaching {
		m.say("one thing at a time: a probe is being attached")
		return true
	}
	d := dialog.NewFlush(&m.look, m.st.scene(), ids)
	if len(ids) == 1 && d.Willing() == 0 {
		m.say(m.withAdvice(d.Only()))
		return true
	}
	return m.openOverlay(d)
}

// withAdvice adds to a refusal what can be done about it.
func (m *model) withAdvice(p *snapshot.Process, ended bool, refusal string) string {
	switch {
	case ended:
		return "refused: PID " + strconv.Itoa(p.ID.Process.PID) + " has ended"
	case p.Probe == nil && m.look.Keys.Has(keys.Attach) && !p.ID.Process.Foreign() && table.Own(m.st.shown, p):
		return refusal + "; a attaches one"
	default:
		return refusal
	}
}

// greyed reports whether a key would only say why not, about the row that it
// is plain to be about.
func (st *state) greyed(key string) bool {
	if !st.Cursor.Active || st.live == nil || st.overlay != nil {
		return false
	}
	p := st.live.Row(st.Cursor.ID)
	switch key {
	case "F":
		return len(st.Tags) == 0 && (p == nil || dialog.FlushRefusal(p, st.live.Host.User) != "")
	case "a":
		return p == nil || attachRefusal(p) != "" || !table.Own(st.shown, p)
	default:
		return false
	}
}

// startFlush does what the dialog's y confirmed, or d asked to find out. The
// identities travel with the requests: they are compared again where the
// flushing is done.
func (m *model) startFlush(d dialog.Flush, dryRun bool) tea.Cmd {
	act, requests := m.options.Actions.Flush, d.Requests(dryRun)
	if act == nil || m.st.readOnly || len(requests) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := &flushRun{stop: cancel, steps: make(chan string, 1), dryRun: dryRun}
	run.stoppable = !dryRun && (len(requests) > 1 || d.InSteps())
	m.flush = run
	m.st.progress = flushing(requests, 0, flush.Result{}) + run.escape()
	work := func() tea.Msg {
		defer cancel()
		defer close(run.steps)
		return flushedMsg{flushAll(ctx, act, requests, run)}
	}
	return tea.Batch(work, run.await)
}

// flushAll makes the requests one after the other and says what came of them.
func flushAll(ctx context.Context, act flushAction, requests []flush.Request, run *flushRun) []string {
	var done []flush.Result
	var failure string
	for i, request := range requests {
		if i > 0 && ctx.Err() != nil {
			break
		}
		request.Progress = func(r flush.Result) { run.tell(flushing(requests, i, r) + run.escape()) }
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
		return together(done, len(requests), failure)
	case failure != "":
		return []string{failure}
	default:
		return done[0].Sentences(strconv.Itoa(requests[0].Process.PID))
	}
}

// together is one sentence about several flushes, in wordings.
func together(done []flush.Result, asked int, failure string) []string {
	if len(done) == 0 {
		return []string{failure}
	}
	sum := flush.Sum(done)
	switch some := strconv.Itoa(len(done)) + " of " + strconv.Itoa(asked); {
	case failure != "":
		return []string{"flushed " + some + ", freed " + max(sum.Freed(), 0).String() + "; " + failure}
	case len(done) < asked:
		return sum.Sentences(some)
	default:
		return sum.Sentences(strconv.Itoa(asked) + " processes")
	}
}

// flushing says how far a flush is.
func flushing(requests []flush.Request, at int, r flush.Result) string {
	verb := "flushing "
	if requests[at].DryRun {
		verb = "dry run of "
	}
	text := verb + strconv.Itoa(requests[at].Process.PID)
	if len(requests) > 1 {
		text += ", " + strconv.Itoa(at+1) + " of " + strconv.Itoa(len(requests))
	}
	if r.Step > 0 {
		text += ": step " + strconv.Itoa(r.Step) + " of " + strconv.Itoa(r.Steps) + ", freed " + max(r.Freed(), 0).String() + " of " + r.Returnable.String()
	}
	return text
}

// escape says what Esc does meanwhile.
func (r *flushRun) escape() string {
	if r.stoppable {
		return "   Esc stops it here"
	}
	return ""
}

// tell puts the newest step into the slot.
func (r *flushRun) tell(text string) {
	select {
	case <-r.steps:
	default:
	}
	select {
	case r.steps <- text:
	default:
	}
}

// await is a command that waits for the next step.
func (r *flushRun) await() tea.Msg {
	if text, ok := <-r.steps; ok {
		return flushStepMsg{text}
	}
	return nil
}

// takeStep shows how far the flush is, and waits for the next step.
func (m *model) takeStep(msg flushStepMsg) (bool, tea.Cmd) {
	if m.flush == nil {
		return false, nil
	}
	if !m.flush.stopped {
		m.st.progress = msg.text
	}
	return true, m.flush.await
}

// takeFlushed shows what came of the flush.
func (m *model) takeFlushed(msg flushedMsg) bool {
	if d, ok := m.st.overlay.(dialog.Flush); ok {
		m.st.overlay = d.DryRunDone()
	}
	m.flush, m.st.progress = nil, ""
	m.say(fitting(msg.wordings, m.st.width-2))
	return true
}

// fitting is the first wording that has room, the last where none has.
func fitting(wordings []string, cells int) string {
	if i := slices.IndexFunc(wordings, func(w string) bool { return text.Width(w) <= cells }); i >= 0 {
		return wordings[i]
	}
	return wordings[len(wordings)-1]
}

// stopFlush ends a flush after the step that it is at.
func (m *model) stopFlush() bool {
	if m.flush == nil || !m.flush.stoppable || m.flush.stopped {
		return false
	}
	m.flush.stopped = true
	m.flush.stop()
	m.st.progress = "stopping after this step"
	return true
}
