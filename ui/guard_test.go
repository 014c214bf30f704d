package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// guarded returns the drawn box under a guard of that mode.
func guarded(mode snapshot.GuardMode) *snapshot.Snapshot {
	s := snapshottest.DrawnBox()
	s.Guard = &snapshot.Guard{Mode: mode, Standings: []snapshot.GuardStanding{
		{Row: snapshottest.RowID(s, snapshottest.Leaking), Importance: -500, Order: 2, Frees: 11 * gb},
		{Row: snapshottest.RowID(s, 1288410), Reason: "protected by the configuration"},
	}}
	return s
}

func TestGuardInTheHeader(t *testing.T) {
	for _, c := range []struct {
		mode   snapshot.GuardMode
		paused time.Duration
		want   string
	}{
		{snapshot.GuardDryRun, 0, "  GUARD dry-run  "}, {snapshot.GuardAct, 0, "  GUARD  "},
		{snapshot.GuardAct, 9*time.Minute + 59*time.Second, "  GUARD paused 10m  "},
		{snapshot.GuardAct, 9 * time.Minute, "  GUARD paused 9m  "}, {snapshot.GuardAct, time.Second, "  GUARD paused 1m  "}, {snapshot.GuardAct, -time.Second, "  GUARD  "},
	} {
		s := guarded(c.mode)
		if c.paused != 0 {
			s.Guard.Paused = s.Time.Add(c.paused)
		}
		for _, width := range []int{60, 80, 120} {
			if header := frame(screenOf(s, width, 24), drawnLook(t))[0]; !strings.Contains(header, c.want) {
				t.Errorf("%d cells, %+v: %q", width, c, header)
			}
		}
	}
	s := guarded(snapshot.GuardDryRun)
	s.Guard.Cannot = "the audit log cannot be written"
	if header := frame(screenOf(s, 60, 24), drawnLook(t))[0]; !strings.Contains(header, "  GUARD cannot act  ") {
		t.Errorf("a guard that cannot act: %q", header)
	}
	s = guarded(snapshot.GuardOff)
	if header := frame(screenOf(s, 80, 24), drawnLook(t))[0]; strings.Contains(header, "GUARD") {
		t.Errorf("a guard that is off: %q", header)
	}
}

// TestHeaderSaysThatNothingIsRecorded: the screen shows why, as far as it has room.
func TestHeaderSaysThatNothingIsRecorded(t *testing.T) {
	for width, want := range map[int]string{60: "recording paused", 80: "recording paused", 200: "recording paused: the disk is full  "} {
		s := snapshottest.DrawnBox()
		s.RecordingPaused = "the disk is full"
		if header := frame(screenOf(s, width, 40), drawnLook(t))[0]; !strings.Contains(header, want) {
			t.Errorf("%d: %q", width, header)
		}
	}
	s := snapshottest.DrawnBox()
	s.RecordingPaused = "recording: /var/lib/vramscope: " + strings.Repeat("a long reason ", 10)
	for _, width := range []int{100, 120} { // a long reason is cut, not left out
		if header := frame(screenOf(s, width, 40), drawnLook(t))[0]; !strings.Contains(header, "recording paused: ") || !strings.Contains(header, "…  ") {
			t.Errorf("%d: %q", width, header)
		}
	}
}

func TestGuardInTheDetail(t *testing.T) {
	for pid, want := range map[int]string{
		snapshottest.Leaking: "guard: importance -500, would be flushed second, 11.0G expected",
		1288410:              "guard: importance 0, not flushed: protected by the configuration",
	} {
		st := screenOf(guarded(snapshot.GuardDryRun), 80, 24).at(pid, 0)
		st.detail = true
		if text := strings.Join(frame(st, drawnLook(t)), "\n"); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
		st = screenOf(guarded(snapshot.GuardDryRun), 200, 50).at(pid, 0)
		if text := strings.Join(frame(st, drawnLook(t)), "\n"); !strings.Contains(text, want) {
			t.Errorf("no %q beside the graph:\n%s", want, text)
		}
	}
}

// TestOrderOfTheGuardIsInWords: the detail says when a guard that acts will flush the process.
func TestOrderOfTheGuardIsInWords(t *testing.T) {
	for order, want := range map[int]string{1: "first", 3: "third", 4: "4th", 11: "11th", 12: "12th", 21: "21st", 102: "102nd", 113: "113th"} {
		s := guarded(snapshot.GuardAct)
		s.Guard.Standings[0].Order = order
		text := rendered(newDetail(screenOf(s, 80, 24).at(snapshottest.Leaking, 0), drawnLook(t), nil, true), 80, 22)
		if want = "guard: importance -500, is flushed " + want + ", 11.0G expected"; !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestPausingTheGuard: A asks first; y pauses the guard for ten minutes or ends its pause.
func TestPausingTheGuard(t *testing.T) {
	var asked []time.Duration
	var refused error
	s := guarded(snapshot.GuardAct)
	s.Guard.ByDaemon = true
	m := newTestModel(t, s, func(o *Options) {
		o.PauseGuard = func(_ context.Context, byDaemon bool, d time.Duration) error {
			if asked = append(asked, d); !byDaemon {
				t.Error("another guard was asked than the dialog names")
			}
			return refused
		}
	})
	m.now = s.Time
	m.press("A")
	m.shows("Pause the guard")
	m.shows("for everybody on this box")
	m.shows("frees no memory")
	m.press("esc")
	m.press("A", "enter")
	if len(asked) > 0 {
		t.Fatal("it was paused without y")
	}
	m.now = m.now.Add(time.Second)
	m.press("y")
	m.shows("the guard is paused for 10m")
	s.Guard.Paused = m.now.Add(9 * time.Minute)
	m.tick(s)
	m.press("A")
	m.shows("End the pause")
	m.now = m.now.Add(time.Second)
	m.press("y")
	if len(asked) != 2 || asked[0] != 10*time.Minute || asked[1] != 0 {
		t.Errorf("asked for %v", asked)
	}
	refused = errors.New("only root and the daemon's user may pause its guard")
	m.press("A")
	m.now = m.now.Add(time.Second)
	m.press("y")
	m.shows("only root and the daemon's user may")
}

func TestNoGuardToPause(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) {
		o.PauseGuard = func(context.Context, bool, time.Duration) error { t.Error("paused"); return nil }
	})
	m.press("A")
	m.shows("no [[guard.rule]]")
	m.now = m.now.Add(time.Second)
	m.press("y", "esc")
	m.send(tea.WindowSizeMsg{Width: 40, Height: 12})
	m = newTestModel(t, guarded(snapshot.GuardAct), func(o *Options) {
		o.ReadOnly = true
		o.PauseGuard = func(context.Context, bool, time.Duration) error { return nil }
	})
	m.press("A")
	m.shows("--read-only: actions are disabled")
}
