package dialog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/uitest"
)

// TestEventMessagesOmitWhatColumnsShow: the GPU and the process of an alert have columns in the log.
func TestEventMessagesOmitWhatColumnsShow(t *testing.T) {
	row := snapshot.RowID{Process: process.Identity{PID: 2701455, StartTime: 1}}
	leak := snapshot.Event{Time: uitest.DrawnAt, Kind: snapshot.EventAlarm, GPU: 4, GPUUUID: "GPU-4", Row: row, User: "dave", Name: "dlrm.py"}
	for message, want := range map[string]string{
		"GPU 4, PID 2701455 dave leaks 1M/s": "dlrm.py: leaks 1M/s",
		"GPU 4 full in 14m (6m–14m)":         "dlrm.py: full in 14m (6m–14m)",
		"GPU 4:1 full in 14m":                "dlrm.py: GPU 4:1 full in 14m",
		"GPU 41 is none of this":             "dlrm.py: GPU 41 is none of this",
	} {
		leak.Message = message
		e := NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: []snapshot.Event{leak}}})
		if text := rendered(e, 120, 6); !strings.Contains(text, "dave       "+want+" ") {
			t.Errorf("%q is\n%s", message, text)
		}
	}
}

// TestEventsSayWhatWasTakenAgain: the event of a flush says so if the process took the memory again within a minute.
func TestEventsSayWhatWasTakenAgain(t *testing.T) {
	flushed := snapshot.Event{Time: uitest.DrawnAt.Add(-30 * time.Second), Kind: snapshot.EventFlush, GPU: 3, GPUUUID: "GPU-3", User: "carol", Name: "finetune.py",
		Bytes: uitest.Known(11.7), Message: "flushed: 70.6G to 58.9G, freed 11.7G in 84 ms"}
	for again, want := range map[time.Duration]string{500 * time.Millisecond: "flushed: freed 11.7G, taken again in 0.5 s ", time.Hour: flushed.Message} {
		history := uitest.CurveHistory{Now: uitest.DrawnAt, Since: time.Minute, Every: 100 * time.Millisecond, Log: []snapshot.Event{flushed}}
		history.Curve = func(age time.Duration) float64 {
			if since := 30*time.Second - age; since < 0 || since >= again {
				return 70.6
			}
			return 58.9
		}
		e := NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, History: history})
		if text := rendered(e, 120, 6); !strings.Contains(text, want) {
			t.Errorf("taken again after %s: no %q in\n%s", again, want, text)
		}
	}
}

// TestEventsScrollSideways: the list scrolls just far enough to show the end of messages, and the box names the keys.
func TestEventsScrollSideways(t *testing.T) {
	end := "driver says -11.7G  ok"
	var o Overlay = NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: []snapshot.Event{
		{Time: uitest.DrawnAt, Kind: snapshot.EventFlush, GPU: 3, GPUUUID: "GPU-3", User: "carol", Name: "finetune.py",
			Message: "flushed: 70.6G to 58.9G, freed 11.7G in 84 ms; " + end},
		{Time: uitest.DrawnAt.Add(-time.Minute), Kind: snapshot.EventDriverBack, Message: "short"},
	}}})
	if text := rendered(o, 80, 8); strings.Contains(text, end) || !strings.Contains(text, "← → more, Esc closes ┐") {
		t.Errorf("at first\n%s", text)
	}
	for range 20 {
		o, _ = o.Press("right", 80, 8)
	}
	if text := rendered(o, 80, 8); !strings.Contains(text, end+"│") {
		t.Errorf("at the right\n%s", text)
	}
	for range 20 {
		o, _ = o.Press("left", 80, 8)
	}
	if text := rendered(o, 80, 8); !strings.Contains(text, "  finetune.py: flushed") {
		t.Errorf("at the left again\n%s", text)
	}
	if text := rendered(o, 120, 8); strings.Contains(text, "more") || !strings.Contains(text, end) {
		t.Errorf("where all of it has room\n%s", text)
	}
}

func TestScrolledEventsStayInPlace(t *testing.T) {
	log := uitest.EventLog()
	for i := range 40 {
		log = append(log, snapshot.Event{Time: uitest.DrawnAt.Add(-20*time.Hour - time.Duration(i)*time.Minute), Kind: snapshot.EventXID, Message: "old"})
	}
	st := &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: log}}
	var o Overlay = NewEvents(uitest.Appearance(t, "", false), st)
	o, _ = pressed(o, "down", "down", "down")
	before := o.Render(80, 14)[2]
	st.History = uitest.CurveHistory{Log: append([]snapshot.Event{{Time: uitest.DrawnAt, Kind: snapshot.EventXID, Message: "new"}}, log...)}
	grown := o.(Follower).Follow(st)
	if got := grown.Render(80, 14)[2]; got != before {
		t.Errorf("the first line moved from\n%s to\n%s", before, got)
	}
	// What an earlier history adds is older.
	st.History = uitest.CurveHistory{Log: append(slices.Clone(st.History.Events(0)), log[len(log)-1])}
	if got := grown.(Follower).Follow(st).Render(80, 14)[2]; got != before {
		t.Errorf("older events moved the first line from\n%s to\n%s", before, got)
	}
	o, _ = pressed(o, "home")
	if text := rendered(o.(Follower).Follow(st), 80, 14); !strings.Contains(text, "new") {
		t.Error("at the top the new event is not seen:\n" + text)
	}
	o, _ = pressed(o, "G")
	if text := rendered(o, 80, 14); !strings.Contains(text, "46/46") && !strings.Contains(text, "old") {
		t.Error("the end is not reached:\n" + text)
	}
}

// TestEqualEventsAreWalked: eight GPUs that are lost at once have eight events, and the cursor stays on each.
func TestEqualEventsAreWalked(t *testing.T) {
	base := snapshot.Event{Time: uitest.DrawnAt, Kind: snapshot.EventAlarm, GPUUUID: "GPU-0", Message: "lost"}
	for name, change := range map[string]func(*snapshot.Event, int){
		"the same":  func(*snapshot.Event, int) {},
		"GPUs":      func(e *snapshot.Event, i int) { e.GPUUUID = "GPU-" + string(rune('0'+i)) },
		"messages":  func(e *snapshot.Event, i int) { e.Message = strings.Repeat("x", i) },
		"processes": func(e *snapshot.Event, i int) { e.Row.Process.PID = 7 + i },
		"times":     func(e *snapshot.Event, i int) { e.Time = e.Time.Add(-time.Duration(i)) },
		"kinds": func(e *snapshot.Event, i int) {
			e.Kind = []snapshot.EventKind{snapshot.EventAlarm, snapshot.EventXID}[i%2]
		},
	} {
		log := slices.Repeat([]snapshot.Event{base}, 8)
		for i := range log {
			change(&log[i], i)
		}
		newer := base
		newer.Time = base.Time.Add(time.Second)
		st := &Screen{Now: newer.Time, History: uitest.CurveHistory{Log: log}}
		var o Overlay = NewEvents(uitest.Appearance(t, "", false), st)
		for i := 1; i < len(log); i++ {
			o, _ = pressed(o, "down")
			if o = o.(Follower).Follow(st); o.(Events).at != i {
				t.Fatalf("%s: on event %d after %d keys", name, o.(Events).at, i)
			}
		}
		st.History = uitest.CurveHistory{Log: append([]snapshot.Event{newer}, log...)}
		if o = o.(Follower).Follow(st); o.(Events).at != len(log) {
			t.Errorf("%s: on event %d after a new one", name, o.(Events).at)
		}
	}
}

// Enter on an out-of-memory event asks for the explanation; Esc returns to the list.
func TestEventsExplainOutOfMemory(t *testing.T) {
	oom := snapshot.Event{Time: uitest.DrawnAt.Add(-time.Hour), Kind: snapshot.EventOutOfMemory, Severity: snapshot.Urgent, GPUUUID: "GPU-1",
		Name: "train.py", Message: "out of memory: asked for 2.00G, 1.20G free"}
	log := append(uitest.EventLog()[:1:1], oom)
	var list Overlay = NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: log}})
	if _, out := list.Press("enter", 80, 14); out != Closed {
		t.Errorf("Enter on another event: %v, want it to close", out)
	}
	list, _ = pressed(list, "down")
	if text := rendered(list, 80, 14); !strings.Contains(text, "Enter explains") {
		t.Errorf("Enter is not offered:\n%s", text)
	}
	o, out := list.Press("enter", 80, 14)
	w, ok := o.(Why)
	if out != Explained || !ok || w.Event().Message != oom.Message {
		t.Fatalf("%v, %T", out, o)
	}
	if text := rendered(w, 80, 14); !strings.Contains(text, "reading the history") {
		t.Errorf("before it is read:\n%s", text)
	}
	e := whyEvidence(oom)
	w = w.Fill(e, why.Judge(e))
	for _, size := range [][2]int{{80, 21}, {120, 36}, {200, 46}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) { matches(t, w, size[0], size[1]) })
	}
	for name, look := range map[string]*cell.Appearance{"ascii": uitest.Appearance(t, "", true), "dark": uitest.Appearance(t, "dark", false)} {
		t.Run(name, func(t *testing.T) { matches(t, NewWhy(look, oom).Fill(e, why.Judge(e)), 80, 14) })
	}
	if _, out := w.Press("w", 80, 14); out != Saved || !strings.Contains(w.Text(), "VERDICT: own growth") {
		t.Errorf("w: %v\n%s", out, w.Text())
	}
	scrolled, _ := w.Press("G", 80, 10)
	if rendered(scrolled, 80, 10) == rendered(w, 80, 10) {
		t.Error("the page does not scroll")
	}
	for _, key := range []string{"esc", "q"} {
		if back, out := scrolled.Press(key, 80, 14); out != Handled || !strings.Contains(rendered(back, 80, 14), "Enter explains") {
			t.Errorf("%s: %v, want the list with its cursor", key, out)
		}
	}
}

func whyEvidence(event snapshot.Event) *why.Evidence {
	size := func(gib int64) snapshot.Bytes { return quantity.From(quantity.Bytes(gib)*quantity.GiB, quantity.Probe) }
	event.OutOfMemory = &snapshot.OutOfMemory{
		Allocator: "pytorch", Config: "max_split_size_mb:512", Allocated: size(70), Stack: []string{"train.py:118 in forward", "train.py:204 in main"},
		Held: []snapshot.HeldClass{{Class: "variables", Name: "outputs in main", Bytes: 30 * quantity.GiB}, {Class: "optimizer_state", Bytes: 20 * quantity.GiB}},
	}
	var recent []why.Sample
	for i := range int64(40) { // every 15 s, and at the end every 3 s
		ago := 15*time.Second*time.Duration(29-i) + 30*time.Second
		if i >= 30 {
			ago = 3 * time.Second * time.Duration(39-i)
		}
		recent = append(recent, why.Sample{Time: event.Time.Add(-ago), Used: size(34 + i), Others: size(4)})
	}
	return &why.Evidence{
		Event: event, Process: snapshot.Process{Name: "train.py", User: "alice"}, GPU: "NVIDIA H100 80GB HBM3", Place: "GPU 0",
		Recent: recent, Requested: size(8), Free: size(2), Capacity: size(80), Driver: quantity.From(640*quantity.MiB, quantity.Driver), Used: size(74), Reserved: size(73), Allocated: size(70),
		Neighbours: []why.Neighbour{{Process: snapshot.Process{Name: "eval.py", User: "bob", Used: size(4), Returnable: size(3)}}},
	}
}

func TestEventsEndAtTheShownMoment(t *testing.T) {
	st := &Screen{Now: uitest.DrawnAt, Past: uitest.DrawnAt.Add(-30 * time.Minute), History: uitest.CurveHistory{Log: uitest.EventLog()}}
	text := rendered(NewEvents(uitest.Appearance(t, "", false), st), 80, 14)
	if strings.Contains(text, "full in") || !strings.Contains(text, "sent TERM") {
		t.Error("events after the moment that is looked at:\n" + text)
	}
}

// TestEventsOmitWhereTheGuardDidNothing: such events are many, and would hide the others.
func TestEventsOmitWhereTheGuardDidNothing(t *testing.T) {
	var log []snapshot.Event
	for _, kind := range []snapshot.GuardDecisionKind{snapshot.GuardNothing, snapshot.GuardWould, snapshot.GuardReached} {
		log = append(log, snapshot.Event{Time: uitest.DrawnAt, Kind: snapshot.EventGuard, Message: "guard: " + string(kind),
			Decision: &snapshot.GuardDecision{Kind: kind}})
	}
	text := rendered(NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: log}}), 80, 10)
	if !strings.Contains(text, "guard: would") || strings.Contains(text, "guard: nothing") || strings.Contains(text, "guard: reached") {
		t.Error(text)
	}
	if log[0].Decision.Kind != snapshot.GuardNothing || log[2].Decision.Kind != snapshot.GuardReached {
		t.Error("the history's own log has changed")
	}
}

func TestEventsGoldens(t *testing.T) {
	st := &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: uitest.EventLog()}}
	for _, size := range [][2]int{{80, 14}, {120, 27}, {60, 5}, {30, 4}} {
		for _, ascii := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dx%d ascii=%v", size[0], size[1], ascii), func(t *testing.T) {
				matches(t, NewEvents(uitest.Appearance(t, "", ascii), st), size[0], size[1])
			})
		}
	}
	t.Run("empty", func(t *testing.T) {
		matches(t, NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt}), 80, 7)
	})
	t.Run("colours", func(t *testing.T) {
		matches(t, NewEvents(uitest.Appearance(t, "dark", false), st), 80, 14)
	})
	past := &Screen{Now: uitest.DrawnAt, Past: uitest.DrawnAt.Add(-30 * time.Minute), History: st.History}
	t.Run("past", func(t *testing.T) {
		matches(t, NewEvents(uitest.Appearance(t, "", false), past), 80, 10)
	})
}

// month is a recording with very many events.
type month struct{ uitest.CurveHistory }

func (month) Events(int) []snapshot.Event { panic("all of them") }

func (month) EventsUntil(t time.Time, limit int) []snapshot.Event {
	events := make([]snapshot.Event, limit)
	for i := range events {
		events[i] = snapshot.Event{Time: t.Add(-time.Duration(i) * time.Second), Kind: snapshot.EventDriverBack, Message: "back"}
	}
	return events
}

// TestEventsOfAMonth: the list of a recording ends at the shown moment, and its length is limited.
func TestEventsOfAMonth(t *testing.T) {
	for _, past := range []time.Time{{}, uitest.DrawnAt.Add(-time.Hour)} {
		e := NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, Past: past, History: month{}})
		newest := uitest.DrawnAt
		if !past.IsZero() {
			newest = past
		}
		if len(e.log) == 0 || len(e.log) > 10_000 || !e.log[0].Time.Equal(newest) {
			t.Errorf("past %v: %d events", past, len(e.log))
		}
	}
}

// TestGuardsFiguresAreInView: at 80 columns an event of the guard shows what it frees, or that it could not flush.
func TestGuardsFiguresAreInView(t *testing.T) {
	gb := func(n int) snapshot.Bytes { return quantity.From(quantity.Bytes(n)*quantity.GiB, quantity.Driver) }
	row := snapshot.RowID{Process: process.Identity{PID: 2963112, StartTime: 1}}
	for kind, want := range map[snapshot.GuardDecisionKind]string{
		snapshot.GuardWould:   "finetune.py: guard would free 11.0G (gradual",
		snapshot.GuardFlushed: "finetune.py: guard freed 9.00G of 11.0G (gra",
		snapshot.GuardRefused: "finetune.py: guard could not flush (gradual)",
	} {
		d := &snapshot.GuardDecision{Kind: kind, Row: row, Level: "gradual", Expected: gb(11), Measured: gb(9), Reason: "2G free, under 8G", Rule: "room"}
		event := snapshot.Event{Time: uitest.DrawnAt, Kind: snapshot.EventGuard, GPUUUID: "GPU-3", Row: row, User: "carol", Name: "finetune.py",
			Message: "guard: " + d.Sentence(), Decision: d}
		e := NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: []snapshot.Event{event}}})
		if text := rendered(e, 80, 6); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestPauseGoldens(t *testing.T) {
	for name, guard := range map[string]*snapshot.Guard{
		"none": nil, "dry-run": {Mode: snapshot.GuardDryRun}, "act": {Mode: snapshot.GuardAct, ByDaemon: true},
		"paused": {Mode: snapshot.GuardAct, Paused: uitest.DrawnAt.Add(5 * time.Minute)},
	} {
		for _, size := range [][2]int{{40, 8}, {80, 14}, {120, 20}} {
			for _, ascii := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s_%dx%d_ascii=%v", name, size[0], size[1], ascii), func(t *testing.T) {
					matches(t, NewPause(uitest.Appearance(t, "", ascii), &Screen{Now: uitest.DrawnAt, Live: &snapshot.Snapshot{Guard: guard}}), size[0], size[1])
				})
			}
		}
	}
}

// TestIncidentsOfTheList: the list finds its newest incident, and puts the cursor on it.
func TestIncidentsOfTheList(t *testing.T) {
	list := NewEvents(uitest.Appearance(t, "", false), &Screen{Now: uitest.DrawnAt, History: uitest.CurveHistory{Log: uitest.EventLog()}})
	if i := list.NewestIncident(); i == nil || i.Kind != snapshot.EventGPULost || list.On(&i.Event).at != 1 {
		t.Errorf("the newest incident is %+v", i)
	}
}
