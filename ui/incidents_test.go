package ui

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// errorOn returns an out-of-memory error of a box's fourth row, which is on GPU 3 of smallBox(4, 1, …).
func errorOn(box *snapshot.Snapshot, at time.Time) snapshot.Event {
	p := box.Row(box.Rows[3].ID)
	return snapshot.Event{Time: at, Kind: snapshot.EventOutOfMemory, Severity: snapshot.Urgent, GPU: p.GPU, GPUUUID: p.ID.GPUUUID, Row: p.ID, User: "carol",
		Name: "finetune.py", Message: "out of memory: asked for 2.00G", Bytes: p.Used}
}

// TestIncidentStaysUntilSeen: an error is on the alert line, twenty minutes later in the sums. A badge counts the error
// until W or M is pressed. KeepSeen gets the incidents that were seen.
func TestIncidentStaysUntilSeen(t *testing.T) {
	history := &uitest.CurveHistory{Now: noon().Add(2 * time.Hour), Since: 3 * time.Hour, Every: time.Minute, Curve: func(time.Duration) float64 { return 5 }}
	kept := make(map[string]time.Time)
	options := func(o *Options) {
		o.History, o.Seen = history, kept
		o.KeepSeen = func(seen map[string]time.Time) error { kept = seen; return nil }
	}
	m := newTestModel(t, smallBox(4, 1, 0), options)
	m.tick(smallBox(4, 1, 1))
	m.hides("UNREAD")

	failed := smallBox(4, 1, 2)
	failure := errorOn(failed, failed.Time)
	history.Log = []snapshot.Event{failure}
	full := snapshot.Alert{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 1, GPUUUID: failed.GPUs[1].UUID, Message: "GPU 1 full in 9m18s"}
	failed.Alerts = []snapshot.Alert{{Kind: snapshot.AlertOutOfMemory, Severity: snapshot.Urgent, GPU: failure.GPU, GPUUUID: failure.GPUUUID, Row: failure.Row,
		Message: "GPU 3 out of memory x1"}, full}
	m.tick(failed)
	m.shows("1 UNREAD")
	m.shows("! GPU 3 OUT OF MEMORY 12:00  finetune.py")
	m.shows("W why")

	m.send(causeMsg{key: m.st.incidents.unread[0].Key(), cause: "leak 25M/s"})
	exited := smallBox(4, 1, 90)
	exited.Rows = exited.Rows[:3]
	m.tick(exited)
	m.shows("! GPU 3 OUT OF MEMORY 12:00  finetune.py exited: leak 25M/s")

	exited.Alerts = []snapshot.Alert{full} // it came later
	m.tick(exited)
	m.shows("! GPU 1 full in 9m18s")
	m.press("!")
	m.shows("! GPU 3 OUT OF MEMORY 12:00")

	if got := followed(&m.st); got.GPUUUID != failure.GPUUUID {
		t.Errorf("the graph follows %+v, not the incident's GPU", got)
	}

	later := smallBox(4, 1, 21*60)
	m.tick(later)
	m.hides("OUT OF MEMORY")
	m.shows("used   1 unread: out of memory 12:00   W why")

	hour := smallBox(4, 1, 3600)
	hour.Alerts = []snapshot.Alert{full}
	m.tick(hour)
	m.shows("1 UNREAD")
	m.press("j", "enter") // the detail hides the header
	m.shows("1 UNREAD")
	m.press("esc", "p")
	m.shows("1 UNREAD")
	m.press("p")

	m.press("W")
	m.shows("Why it ran out of memory")
	m.hides("UNREAD")
	m.press("esc")
	m.hides("Why it ran out of memory")
	if at := kept[(&snapshot.Incident{Event: failure}).Key()]; !at.Equal(failure.Time) {
		t.Errorf("kept as seen: %v", kept)
	}

	again := newTestModel(t, smallBox(4, 1, 3600), options)
	again.tick(smallBox(4, 1, 3601))
	again.hides("UNREAD")
	history.Log = append([]snapshot.Event{errorOn(failed, noon().Add(3602*time.Second))}, history.Log...)
	again.tick(smallBox(4, 1, 3603))
	again.shows("1 UNREAD")
	again.press("M")
	again.hides("UNREAD")
	seen := smallBox(4, 1, 3620)
	seen.Alerts = failed.Alerts[:1]
	again.tick(seen)
	again.shows("! GPU 3 out of memory x1   W why") // as when it was unseen
	again.press("E", "enter")
	again.shows("Why it ran out of memory")
}

// TestIncidentsAreOfTheDay: an event older than a day and a hanging GPU are no incidents, and W opens the events about a
// lost GPU.
func TestIncidentsAreOfTheDay(t *testing.T) {
	box := smallBox(4, 1, 0)
	lost := snapshot.Event{Time: noon().Add(-time.Hour), Kind: snapshot.EventGPULost, GPU: 2, GPUUUID: box.GPUs[2].UUID, Message: "lost: GPU_IS_LOST, had 41.2G"}
	hangs := lost
	hangs.GPUUUID, hangs.Message = box.GPUs[1].UUID, "hanging: no answer"
	history := &uitest.CurveHistory{Log: []snapshot.Event{hangs, lost, errorOn(box, noon().Add(-25*time.Hour))}}
	m := newTestModel(t, box, func(o *Options) { o.History = history })
	m.tick(smallBox(4, 1, 1))
	m.shows("1 UNREAD")
	incident, _ := snapshot.IncidentOf(lost)
	if head, tail := incidentSentence(&incident, &m.st, &m.look); head+tail != "GPU 2 LOST 11:00  GPU_IS_LOST, had 41.2G" {
		t.Errorf("%q", head+tail)
	}
	m.press("W")
	m.shows("Events")
	m.hides("UNREAD")
}

// TestReplayExplainsTheNewestIncident: in a replay nothing is unread, and W explains the newest
// error up to the shown moment.
func TestReplayExplainsTheNewestIncident(t *testing.T) {
	box := smallBox(4, 1, 0)
	history := &uitest.CurveHistory{Now: noon().Add(2 * time.Hour), Since: 3 * time.Hour, Every: time.Minute, Curve: func(time.Duration) float64 { return 5 },
		Log: []snapshot.Event{errorOn(box, noon().Add(-time.Second))}}
	m := newTestModel(t, box, func(o *Options) { o.History, o.Replay = history, true })
	m.hides("UNREAD")
	m.press("W")
	m.shows("Why it ran out of memory")
	m.shows("VERDICT")
}

// TestKilledProcessIsOnTheAlertLine: the line has its name and its signal, once for all its GPUs; W
// shows it among the events.
func TestKilledProcessIsOnTheAlertLine(t *testing.T) {
	history := &uitest.CurveHistory{Now: noon().Add(time.Hour), Since: time.Hour, Every: time.Minute, Curve: func(time.Duration) float64 { return 5 }}
	m := newTestModel(t, smallBox(4, 1, 0), func(o *Options) { o.History = history })
	after := smallBox(4, 1, 2)
	killed := errorOn(after, after.Time)
	killed.Kind, killed.Message = snapshot.EventEnded, "killed by SIGKILL, used 71.2G"
	other := killed
	other.GPU, other.GPUUUID = 2, after.GPUs[2].UUID
	history.Log = []snapshot.Event{killed, other}
	m.tick(after)
	m.shows("1 UNREAD")
	m.shows("! GPU 3 KILLED 12:00  finetune.py killed by SIGKILL, used 71.2G")
	m.press("W")
	m.shows("finetune.py: killed by SIGKILL")
	m.hides("UNREAD")
}
