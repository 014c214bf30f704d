package ui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/uitest"
)

// withLog is a screen of the drawn box with a log of events.
func withLog(t *testing.T, width, height int) *testModel {
	t.Helper()
	m := newTestModel(t, snapshottest.DrawnBox(), func(o *Options) {
		o.History = memoryHistory{uitest.CurveHistory{Now: uitest.DrawnAt, Every: time.Second, Curve: uitest.Leak, Log: uitest.EventLog()}}
	})
	m.send(tea.WindowSizeMsg{Width: width, Height: height})
	return m
}

// TestLeastSizeShowsWhatIsAskedFor: at 30×3, Enter shows a process, then its figures,
// E the newest event, and the menus their line.
func TestLeastSizeShowsWhatIsAskedFor(t *testing.T) {
	m := withLog(t, minWidth, minHeight)
	m.press("enter")
	m.shows("1288410")
	m.shows("71.7G")
	m.press("enter")
	m.shows("1288410 71.7G alloc 68.7G")
	m.shows("GPU 2 bob vllm serve")
	m.press("esc", "esc", "E")
	m.shows("GPU 3 PID 2963112")
	m.shows("full in 4m10s")
	m.press("j")
	m.shows("GPU 6 lost, had")
	m.press("esc", "o")
	m.shows("USED      its memory")
	m.press("esc", "O")
	m.shows("Theme     < ")
	m.press("down")
	m.shows("Interval  < ")
}

// TestNarrowEventsAreReadInFull: at 40 columns the event under the cursor is there in full.
func TestNarrowEventsAreReadInFull(t *testing.T) {
	m := withLog(t, 40, 14)
	m.press("E", "j", "j", "j", "j")
	m.shows("PID 2961877 alice-of-research")
	m.shows("71.3G, out of memory x1")
}

// TestScrolledCommandsKeepTheirEnd: → moves a command only until its end is in view.
func TestScrolledCommandsKeepTheirEnd(t *testing.T) {
	st := screenOf(snapshottest.DrawnBox(), 80, 24)
	st.ScrollX = 24
	text := strings.Join(frame(st, drawnLook(t)), "\n")
	for _, want := range []string{"dlrm.py --batch 65536", "pid of another container", "Xorg :0 -nolisten tcp"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is scrolled away:\n%s", want, text)
		}
	}
}

// TestFooterShowsTheChosenInterval: at once, not with the next sample.
func TestFooterShowsTheChosenInterval(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.shows(" 1s  LIVE")
	m.press("+")
	m.shows(" 2s  LIVE")
}

// TestTotalsLeaveUnknownGPUsOut: a GPU whose use is unknown is neither in the used
// memory nor in what it is compared with.
func TestTotalsLeaveUnknownGPUsOut(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.Alerts = nil
	s.GPUs[0].Memory.Used, s.GPUs[0].Memory.Free = snapshot.Bytes{}, snapshot.Bytes{}
	st := screenOf(s, 120, 40)
	if got := alertLine(st, drawnLook(t)); !strings.Contains(got, "354G of 474G used") || !strings.Contains(got, "2 GPUs unknown") {
		t.Errorf("got %q", got)
	}
}

// TestAlertIsCutBetweenWords: a long alert ends at a word.
func TestAlertIsCutBetweenWords(t *testing.T) {
	s := snapshottest.DrawnBox()
	message := "GPU 3 has 1.20G free of 79.6G, PID 2963112 carol-of-the-research-group has to retry allocations"
	s.Alerts = []snapshot.Alert{{Kind: snapshot.AlertLowMemory, Severity: snapshot.Urgent, GPU: 3, GPUUUID: s.GPUs[3].UUID, Message: message}}
	words := strings.Fields(message)
	for width := 40; width < 100; width++ {
		got := strings.Fields(strings.TrimSuffix(alertLine(screenOf(s, width, 24), drawnLook(t)), "…"))[1:]
		for i, word := range got {
			if strings.TrimRight(word, ",") != strings.TrimRight(words[i], ",") {
				t.Errorf("%d cells: word %q instead of %q", width, word, words[i])
			}
		}
	}
}
