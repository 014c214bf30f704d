package ui

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/action/flush"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/table"
	"vramscope/ui/uitest"
)

// flushes fakes Actions.Flush.
type flushes struct {
	mu     sync.Mutex
	asked  []flush.Request
	answer func(context.Context, flush.Request) (flush.Result, error)
}

func (f *flushes) flush(ctx context.Context, r flush.Request) (flush.Result, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	f.mu.Unlock()
	return f.answer(ctx, r)
}

// drawnResult returns the result of the flush in the drawings.
func drawnResult(r flush.Request) flush.Result {
	return flush.Result{
		DryRun: r.DryRun, Returnable: gib(11.8), Took: 84 * time.Millisecond, Step: 1, Steps: 1,
		Devices: []flush.Device{{Before: gib(69.3), After: gib(57.6), DriverBefore: uitest.Known(70.6), DriverAfter: uitest.Known(58.9)}},
	}
}

// flushModel is a model on the drawn box with F bound. The messages that its commands return go
// back into it, as in Bubble Tea.
type flushModel struct {
	*testModel
	*flushes
	answers chan tea.Msg
}

func newFlushModel(t *testing.T, change func(*snapshot.Snapshot, *Options)) *flushModel {
	t.Helper()
	box := snapshottest.DrawnBox()
	m := &flushModel{flushes: &flushes{}, answers: make(chan tea.Msg, 64)}
	m.answer = func(_ context.Context, r flush.Request) (flush.Result, error) {
		return drawnResult(r), nil
	}
	m.testModel = newTestModel(t, box, func(o *Options) {
		o.Actions.Flush, o.History = m.flush, snapshottest.History(box)
		if change != nil {
			change(box, o)
		}
	})
	m.now = box.Time
	return m
}

// key presses keys, each a while after the previous one.
func (m *flushModel) key(names ...string) {
	m.t.Helper()
	for _, name := range names {
		m.now = m.now.Add(time.Second)
		var msg tea.KeyPressMsg
		switch name {
		case "esc":
			msg = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "space":
			msg = tea.KeyPressMsg{Code: tea.KeySpace}
		default:
			msg = tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
		}
		_, cmd := m.Update(msg)
		m.run(cmd)
		m.check()
	}
}

func (m *flushModel) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for _, one := range msg {
				m.run(one)
			}
		case nil:
		default:
			m.answers <- msg
		}
	}()
}

// until takes answers until the screen shows the text.
func (m *flushModel) until(text string) {
	m.t.Helper()
	deadline := time.After(time.Minute)
	for !strings.Contains(m.screen(), text) {
		select {
		case msg := <-m.answers:
			_, cmd := m.Update(msg)
			m.run(cmd)
			m.check()
		case <-deadline:
			m.t.Fatalf("no %q on\n%s", text, m.content())
		}
	}
}

// onto puts the cursor on a process.
func (m *flushModel) onto(pid int) *flushModel {
	m.st.Cursor = table.Cursor{Active: true, ID: snapshottest.RowID(m.st.live, pid)}
	return m
}

func TestFlushKeyAsksAndYFlushes(t *testing.T) {
	m := newFlushModel(t, nil).onto(snapshottest.Leaking)
	m.key("F")
	if !strings.Contains(m.content(), "Flush: free cached memory") {
		t.Fatalf("no dialog:\n%s", m.content())
	}
	m.key("enter", "x", "F")
	if len(m.asked) != 0 {
		t.Fatal("it flushes before anybody has said yes")
	}
	m.key("s", "y")
	m.until("flushed 2963112: 70.6G to 58.9G, freed 11.7G in 84 ms; driver says -11.7G  ok")
	if len(m.asked) != 1 || m.asked[0].Level != flush.Selective || m.asked[0].DryRun || m.asked[0].Process.PID != snapshottest.Leaking {
		t.Errorf("it asked for %+v", m.asked)
	}
	if m.flush0() || m.st.overlay != nil {
		t.Error("the flush is still under way, or the dialog still open")
	}
}

// flush0 reports whether a flush runs.
func (m *flushModel) flush0() bool { return m.model.flush != nil }

func TestFlushClosesWithoutAction(t *testing.T) {
	m := newFlushModel(t, nil).onto(snapshottest.Leaking)
	for _, no := range []string{"esc", "n", "q"} {
		m.key("F", no)
		if m.st.overlay != nil || m.ended {
			t.Errorf("%s does not close the dialog", no)
		}
	}
	if len(m.asked) != 0 {
		t.Errorf("it flushed: %+v", m.asked)
	}
}

func TestDryRunLeavesTheQuestionOpen(t *testing.T) {
	m := newFlushModel(t, nil).onto(snapshottest.Leaking)
	m.key("F", "d")
	m.until("dry run 2963112: 70.6G to 58.9G, would free 11.7G")
	if len(m.asked) != 1 || !m.asked[0].DryRun {
		t.Errorf("it asked for %+v", m.asked)
	}
	if !strings.Contains(m.content(), "Flush: free cached memory") {
		t.Errorf("the question is gone:\n%s", m.content())
	}
	m.key("y")
	m.until("flushed 2963112")
}

func TestGradualFlushIsStoppedByEsc(t *testing.T) {
	m := newFlushModel(t, func(box *snapshot.Snapshot, _ *Options) {
		box.Alerts = nil
		for i := range box.Rows {
			if p := &box.Rows[i]; p.ID.Process.PID == snapshottest.Leaking {
				p.Allocators[0].Kind = "cuda_pool"
			}
		}
	}).onto(snapshottest.Leaking)
	m.answer = func(ctx context.Context, r flush.Request) (flush.Result, error) {
		result := drawnResult(r)
		result.Devices[0].After, result.Step, result.Steps = gib(66.4), 1, 4
		r.Progress(result)
		<-ctx.Done() // between two steps
		result.Stopped, result.Devices[0].DriverAfter = true, uitest.Known(67.7)
		return result, nil
	}
	m.key("F", "y")
	m.until("flushing 2963112: step 1 of 4, freed 2.90G of 11.8G   Esc stops it here")
	// The screen still works: another F says why not, and the cursor moves.
	m.key("F")
	m.until("one action at a time")
	// So do the page and a small pane, where the progress has no line of its own.
	m.key("i", "i")
	if m.st.page != nil {
		t.Error("the page stays open")
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 10})
	m.until("step 1 of 4")
	m.key("?", "esc") // closes the help
	if m.model.flush == nil || m.model.flush.stopped {
		t.Fatal("Esc in a panel stops the flush")
	}
	m.key("i")
	m.Update(tea.KeyPressMsg{Code: 'j', Mod: tea.ModAlt}) // Esc and j that a slow line delivered together
	if m.st.page == nil {
		t.Error("it closed the page, too")
	}
	m.key("i")
	m.until("stopped 2963112: 70.6G to 67.7G, freed 2.90G of 11.8G; driver says -2.90G  ok")
	m.key("esc") // Esc is an ordinary key again
	if m.st.Cursor.Active {
		t.Error("Esc does nothing after the flush")
	}
}

func TestOneStepIsNotStoppedByEsc(t *testing.T) {
	m := newFlushModel(t, nil).onto(snapshottest.Leaking)
	release := make(chan struct{})
	m.answer = func(_ context.Context, r flush.Request) (flush.Result, error) {
		<-release
		return drawnResult(r), nil
	}
	m.key("F", "y")
	if !strings.Contains(m.content(), "flushing 2963112") || strings.Contains(m.content(), "Esc stops") {
		t.Errorf("it says\n%s", m.content())
	}
	m.key("esc")
	close(release)
	m.until("flushed 2963112")
}

func TestFlushKeySaysWhyNot(t *testing.T) {
	for _, c := range []struct {
		name string
		pid  int
		want string
	}{
		{"JAX", 2955020, "JAX keeps its cache. To reserve less: XLA_PYTHON_CLIENT_PREALLOCATE="},
		{"foreign", 184, "PID 184 is another container's process"},
		{"no probe", snapshottest.Probeme, "PID 3011876 has no probe"},
	} {
		m := newFlushModel(t, nil).onto(c.pid)
		m.key("F")
		if m.st.overlay != nil || !strings.Contains(m.content(), c.want) {
			t.Errorf("%s: no %q, or a dialog, on\n%s", c.name, c.want, m.content())
		}
	}
	t.Run("ended", func(t *testing.T) {
		m := newFlushModel(t, nil).onto(2963112)
		m.st.Cursor.ID = m.st.live.Ended[0].Last.ID
		m.key("F")
		if !strings.Contains(m.content(), "refused: PID 2961877 has ended") {
			t.Errorf("it says\n%s", m.content())
		}
	})
	t.Run("past", func(t *testing.T) {
		m := newFlushModel(t, nil).onto(snapshottest.Leaking)
		m.st.past = m.now.Add(-time.Minute)
		m.key("F")
		if m.st.overlay != nil || !strings.Contains(m.content(), "not in the past: L shows the present") {
			t.Errorf("it says\n%s", m.content())
		}
	})
	t.Run("read-only", func(t *testing.T) {
		m := newFlushModel(t, func(_ *snapshot.Snapshot, o *Options) { o.ReadOnly, o.Actions = true, Actions{} }).onto(snapshottest.Leaking)
		m.key("F")
		if m.st.overlay != nil || !strings.Contains(m.content(), "--read-only: actions are disabled") {
			t.Errorf("it says\n%s", m.content())
		}
	})
	t.Run("refused by the box", func(t *testing.T) {
		m := newFlushModel(t, nil).onto(snapshottest.Leaking)
		m.answer = func(context.Context, flush.Request) (flush.Result, error) {
			return flush.Result{}, &process.Refusal{Reason: "PID 2963112 is another process now"}
		}
		m.key("F", "y")
		m.until("refused: PID 2963112 is another process now")
	})
}

func TestFlushHintIsGreyWhereRefused(t *testing.T) {
	st := screenOf(snapshottest.DrawnBox(), 80, 24)
	if st.greyed("F") {
		t.Error("without a cursor F is grey")
	}
	for pid, want := range map[int]bool{snapshottest.Leaking: false, 2955020: true, 184: true, snapshottest.Probeme: true} {
		if got := st.at(pid, 0).greyed("F"); got != want {
			t.Errorf("on %d F is grey: %v", pid, got)
		}
	}
}

func TestFlushKeyWithTaggedProcesses(t *testing.T) {
	m := newFlushModel(t, nil).onto(snapshottest.Leaking)
	m.answer = func(_ context.Context, r flush.Request) (flush.Result, error) {
		if r.Process.PID == 2701455 {
			return flush.Result{}, errors.New("probe: flush of PID 2701455: no answer in time")
		}
		return drawnResult(r), nil
	}
	for _, pid := range []int{snapshottest.Leaking, 2963101, 2701455} {
		m.onto(pid).key("space")
	}
	m.key("F")
	if !strings.Contains(m.content(), "3 of 3 tagged") {
		t.Fatalf("it asks\n%s", m.content())
	}
	m.key("y")
	m.until("flushed 2 of 3, freed 23.4G; probe: flush of PID 2701455: no answer in time")
	if len(m.asked) != 3 {
		t.Errorf("it asked %v", m.asked)
	}
}

func TestFlushOfAProcessThatExits(t *testing.T) {
	m := newFlushModel(t, nil).onto(snapshottest.Leaking)
	m.key("F")
	next := *m.st.live
	next.Rows = nil
	m.Update(snapshotMsg{&next})
	if !strings.Contains(m.content(), "Cannot flush") {
		t.Errorf("it goes on asking:\n%s", m.content())
	}
	m.key("y")
	if len(m.asked) != 0 {
		t.Errorf("it flushed %v", m.asked)
	}
}

func gib(amount float64) quantity.Bytes { return quantity.Bytes(amount * float64(quantity.GiB)) }

func TestFlushMessageFitsTheScreen(t *testing.T) {
	const cells = 78
	for _, took := range []time.Duration{84 * time.Millisecond, 840 * time.Millisecond, 12 * time.Second} {
		r := flush.Result{Returnable: gib(12), Took: took, Devices: []flush.Device{{
			Before: gib(70), After: gib(58), DriverBefore: uitest.Known(132), DriverAfter: uitest.Known(122), Since: uitest.Known(2),
		}}}
		for _, subject := range []string{"2963112", "4194304", "12 processes"} {
			sentence := cell.Fitting(r.Sentences(subject), cells)
			if text.Width(sentence) > cells || !strings.HasSuffix(sentence, "driver says -10.0G, 2.00G taken since  ok") {
				t.Errorf("%d cells: %s", text.Width(sentence), sentence)
			}
		}
	}
}

// TestFlushSaysWhatWasTakenAgain: the result does not stay on the screen if the program takes the
// memory again within a minute.
func TestFlushSaysWhatWasTakenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		used  float64 // by the process
		after time.Duration
		want  string
	}{
		"taken again": {70.1, 1500 * time.Millisecond, "flushed 2963112: freed 11.7G, taken again in 1.5 s"},
		"stays free":  {60.1, 1500 * time.Millisecond, "flushed 2963112: 70.6G to 58.9G"},
		"much later":  {70.1, 2 * time.Minute, ""},
	} {
		m := newFlushModel(t, nil).onto(snapshottest.Leaking)
		m.key("F", "s", "y")
		m.until("flushed 2963112: 70.6G to 58.9G")
		next := snapshottest.DrawnBox()
		next.Row(m.st.Cursor.ID).Used = uitest.Known(c.used)
		next.Time = m.now.Add(c.after)
		m.tick(next)
		if c.want != "" {
			m.shows(c.want)
		} else {
			m.hides("taken again")
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestFlushOffersSleepAndWake: F shows what the process's server would do, and y makes the server do that. A process
// without a server has the ordinary question.
func TestFlushOffersSleepAndWake(t *testing.T) {
	var would flush.Result
	var refused error
	m := newFlushModel(t, func(_ *snapshot.Snapshot, o *Options) {
		o.Actions.Server = func(context.Context, process.Identity) (flush.Result, error) { return would, refused }
	}).onto(snapshottest.Probeme)
	m.answer = func(_ context.Context, r flush.Request) (flush.Result, error) {
		done := drawnResult(r)
		if done.Level = r.Level; flush.OfServer(r.Level) {
			done.Server = "vLLM 0.33.0"
		}
		return done, nil
	}
	server := func(level flush.Level) flush.Result {
		r := drawnResult(flush.Request{DryRun: true})
		r.Level, r.Server, r.Notes = level, "vLLM 0.33.0", []string{"reported by the server: KV cache 12 % in use"}
		return r
	}
	m.key("F")
	m.until("PID 3011876 has no probe")
	if m.st.overlay != nil {
		t.Fatal("a question without a server")
	}
	would = server(flush.Sleep)
	m.key("F")
	m.until("> z     sleep  vLLM 0.33.0 would free up to 11.8G of 69.3G")
	for _, want := range []string{"It can free no cached memory: PID 3011876 has no probe.", "reported by the server: KV cache 12 % in use", "ask it"} {
		if !strings.Contains(m.content(), want) {
			t.Errorf("no %q on\n%s", want, m.content())
		}
	}
	m.key("d")
	m.until("dry run: vLLM 0.33.0")
	m.key("y")
	m.until("asleep: vLLM 0.33.0: 69.3G to 57.6G, freed 11.7G")
	would = server(flush.Wake)
	m.key("F")
	m.until("> w     wake  vLLM 0.33.0 would take its memory again")
	m.key("w", "y")
	m.until("woken: vLLM 0.33.0")
	if len(m.asked) != 3 || !m.asked[0].DryRun || m.asked[1].Level != flush.Sleep || m.asked[2].Level != flush.Wake || m.asked[2].Process.PID != snapshottest.Probeme {
		t.Errorf("it asked for %+v", m.asked)
	}
	// A process that a flush helps, too, has both choices.
	m.onto(snapshottest.Leaking)
	would, refused = flush.Result{}, &process.Refusal{Reason: "vLLM is busy: it has 3 requests"}
	m.key("F")
	m.until("z     sleep      no: vLLM is busy: it has 3 requests")
	if !strings.Contains(m.screen(), "> g     gradual") {
		t.Errorf("no flush on\n%s", m.content())
	}
	m.key("z", "k", "y")
	m.until("flushed 2963112")
	if last := m.asked[len(m.asked)-1]; last.Level != flush.Urgent {
		t.Errorf("one above sleep is %s", last.Level)
	}
	// An answer that would open a question is dropped while a flush runs.
	m.onto(snapshottest.Probeme)
	would, refused = server(flush.Sleep), nil
	m.key("F")
	late := <-m.answers
	m.testModel.flush = &flushRun{}
	if m.Update(late); m.st.overlay != nil {
		t.Fatal("a question while a flush is running")
	}
	m.testModel.flush = nil
	m.onto(snapshottest.Leaking)
	// An answer after Esc opens nothing.
	m.key("F", "esc")
	m.Update(<-m.answers)
	if m.st.overlay != nil {
		t.Error("the question is open again")
	}
}
