package ui

import (
	"strings"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
	"vramscope/ui/uitest"
)

func alertLine(st *state, lk *cell.Appearance) string {
	l := cell.NewLine(st.width)
	writeAlert(l, st, lk)
	return strings.TrimRight(l.String(), " ")
}

// TestAdviceNamesOnlyAvailableKeys: advice names only bound keys, and none for another user's process.
func TestAdviceNamesOnlyAvailableKeys(t *testing.T) {
	all := drawnLook(t)
	none := drawnLook(t)
	none.Keys = keys.New(keys.CanSignal, false)
	readOnly := drawnLook(t)
	readOnly.Keys = keys.New(keys.AllAbilities, true)
	for name, c := range map[string]struct {
		look *cell.Appearance
		user string
		kind snapshot.AlertKind
		want string
	}{
		"everything bound":         {all, "root", snapshot.AlertFullIn, "! GPU 3 full in 4m10s (3m–6m): F on 2963112 keeps 11.8G free   1 of 3, ! next"},
		"bob cannot flush carol's": {all, "bob", snapshot.AlertFullIn, "! GPU 3 full in 4m10s (3m–6m): carol 2963112 grows 25M/s    1 of 3, ! next"},
		"flush is not bound":       {none, "root", snapshot.AlertFullIn, "! GPU 3 full in 4m10s (3m–6m): carol 2963112 grows 25M/s    1 of 3, ! next"},
		"read-only":                {readOnly, "root", snapshot.AlertFullIn, "! GPU 3 full in 4m10s (3m–6m): carol 2963112 grows 25M/s    1 of 3, ! next"},
		"other alert":              {all, "carol", snapshot.AlertLowMemory, "! GPU 3 has 6.09G free: F on 2963112 frees 11.8G            1 of 3, ! next"},
		"other alert, not bound":   {none, "carol", snapshot.AlertLowMemory, "! GPU 3 has 6.09G free                                      1 of 3, ! next"},
	} {
		s := snapshottest.DrawnBox()
		s.Host.User = c.user
		s.Alerts[0].Kind = c.kind
		if c.kind == snapshot.AlertLowMemory {
			s.Alerts[0].Message, s.Alerts[0].Advice = "GPU 3 has 6.09G free", "F on 2963112 frees 11.8G"
		}
		if got := alertLine(screenOf(s, 80, 24), c.look); got != " "+c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, " "+c.want)
		}
	}
}

// TestAlertLineShowsTheFirstThatApplies: the order is message, past, driver, alert, hint, legend.
func TestAlertLineShowsTheFirstThatApplies(t *testing.T) {
	lk := drawnLook(t)
	st := screenOf(snapshottest.DrawnBox(), 80, 24)
	st.past = st.now.Add(-134 * time.Second)
	then := *st.shown
	then.Time = st.past
	st.shown = &then
	st.message, st.messageUntil = "signal TERM sent to 2963112", st.now.Add(time.Second)
	steps := []struct {
		want string
		next func()
	}{
		{" signal TERM sent to 2963112", func() { st.messageUntil = st.now }},
		{" 12:02:03, 2m14s ago   L live", func() { st.past = time.Time{}; then.Driver.State = snapshot.DriverGone }},
		{" ! no driver: probe data only", func() { then.Driver.State = snapshot.DriverOK; st.alert = 1 }},
		{" ! GPU 6 lost since 12:02:03                                 2 of 3, ! next", func() { then.Alerts = nil; then.ProbeSeen = false; st.live = st.shown }},
		{` start jobs with "vramscope run -- CMD", or a on a Python process`, func() { st.hintOff = true }},
		{" by owner a alice b bob c carol d dave e erin f frank g gina r root ▄ ?", func() { st.width = 120 }},
		{" 415G of 557G used   138G free   4.20G reserved   flushes keep 24G free   1 GPU unknown   1 GPU idle but holding memory", func() {}},
	}
	for i, step := range steps {
		if got := alertLine(st, lk); got != step.want {
			t.Errorf("step %d:\n got %q\nwant %q", i, got, step.want)
		}
		step.next()
	}
}

// TestChosenAlertOutOfRange: the chosen alert may have been cleared.
func TestChosenAlertOutOfRange(t *testing.T) {
	st := screenOf(snapshottest.DrawnBox(), 80, 24)
	for _, chosen := range []int{-1, 3, 1 << 40} {
		st.alert = chosen
		if got := alertLine(st, drawnLook(t)); !strings.Contains(got, " of 3") {
			t.Errorf("alert %d: %q", chosen, got)
		}
	}
}

func TestDayOneHintHasWholeWordings(t *testing.T) {
	lk := uitest.Appearance(t, "", false)
	for width := 30; width <= 120; width++ {
		l := cell.NewLine(width)
		writeDayOne(l, screenOf(snapshottest.DrawnBox(), width, 24), lk)
		text := strings.TrimRight(l.String(), " ")
		if !strings.HasSuffix(text, "vramscope run -- CMD") && !strings.HasSuffix(text, `CMD"`) && !strings.HasSuffix(text, "on a Python process") {
			t.Errorf("%d cells: %q", width, text)
		}
	}
}

// TestLongAdviceKeepsItsLastClause: the last clause says what to do.
func TestLongAdviceKeepsItsLastClause(t *testing.T) {
	s := snapshottest.DrawnBox()
	s.Alerts = []snapshot.Alert{{
		Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPU: 6, GPUUUID: s.GPUs[6].UUID,
		Message: "GPU 6 lost since 12:02:03", Advice: "it is asked again; dmesg | grep -i NVRM",
	}, {
		Kind: snapshot.AlertXID, Severity: snapshot.Notice, GPU: 6, GPUUUID: s.GPUs[6].UUID, Message: "GPU 6 reported Xid 79",
	}}
	for width, want := range map[int]string{
		120: "GPU 6 lost since 12:02:03: it is asked again; dmesg | grep -i NVRM  ",
		80:  "GPU 6 lost since 12:02:03: dmesg | grep -i NVRM  ",
		50:  "GPU 6 lost since 12:02:03  ",
	} {
		if got := alertLine(screenOf(s, width, 24), uitest.Appearance(t, "", false)); !strings.Contains(got, want) {
			t.Errorf("%d cells: %q", width, got)
		}
	}
}

// TestAlertLineAndGraphAgreeOnFull: both name the same second, also some time after the snapshot.
func TestAlertLineAndGraphAgreeOnFull(t *testing.T) {
	st := screenOf(snapshottest.DrawnBox(), 120, 40)
	st.now = st.now.Add(900 * time.Millisecond)
	const want = " at 12:08:27"
	if text := strings.Join(frame(st, uitest.Appearance(t, "", false)), "\n"); strings.Count(text, want) != 2 {
		t.Errorf("not twice %q in\n%s", want, text)
	}
}
