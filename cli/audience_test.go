package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/cli/gather"
	"vramscope/cli/render"
	"vramscope/exporter"
	"vramscope/internal/process"
	"vramscope/metric"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// TestEveryTextHasADecision: testdata/audiences.txt says who sees each text of a snapshot and of an
// event. The tests of daemon/socket check what a daemon shows other users.
func TestEveryTextHasADecision(t *testing.T) {
	var all struct {
		Snapshot snapshot.Snapshot
		Event    snapshot.Event
	}
	texts := snapshottest.Fill(&all)
	outputs := audiences(t, &all.Snapshot, &all.Event)
	var got []string
	for path, text := range texts {
		line := path + ":"
		for _, name := range []string{"metrics", "snapshot.json", "recording", "report", "log", "csv"} {
			if strings.Contains(outputs[name], text) {
				line += " " + name
			}
		}
		got = append(got, line)
	}
	content, err := os.ReadFile("testdata/audiences.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(content)), "\n")
	slices.Sort(got)
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("not decided so: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("decided, and not so: %s", line)
		}
	}
}

// audiences returns what each audience gets of a snapshot and an event.
func audiences(t *testing.T, snap *snapshot.Snapshot, event *snapshot.Event) map[string]string {
	t.Helper()
	g, row := &snap.GPUs[0], &snap.Rows[0]
	snap.Simulated, snap.Past, snap.Interval, snap.Driver.State, g.State = false, false, time.Second, snapshot.DriverOK, snapshot.GPUOK
	row.ID.GPUUUID, row.Started = g.UUID, snap.Time.Add(-time.Hour)
	row.ID.Process = process.Identity{PID: 4711, StartTime: 1, Namespace: 1}
	event.Kind, event.Row, event.GPUUUID, event.Time = snapshot.EventOutOfMemory, row.ID, g.UUID, snap.Time.Add(time.Second)
	directory := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	e := exporter.New(exporter.Options{
		ProcessLabels: metric.ProcessLabels(), Processes: 16, Snapshot: true, Now: func() time.Time { return snap.Time },
	})
	e.Observe(snap, []snapshot.Event{*event}, nil)
	get := func(path string) string {
		w := httptest.NewRecorder()
		e.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}

	w := recording.Start(filepath.Join(directory, "recordings"), recording.Options{})
	for i := range 90 { // one at a time, because the queue for the disk is bounded
		next := *snap
		next.Time = snap.Time.Add(time.Duration(i) * time.Second)
		var events []snapshot.Event
		if i == 1 {
			events = []snapshot.Event{*event}
			for _, kind := range []snapshot.EventKind{snapshot.EventStarted, snapshot.EventFlush, snapshot.EventGuard, snapshot.EventGPULost} {
				other := *event
				other.Kind = kind
				events = append(events, other)
			}
		}
		if !eventually(func() bool { return w.Append(&next, events) == nil }) {
			t.Fatal("the recorder takes nothing")
		}
	}
	must(w.Close())
	var recorded, csv bytes.Buffer
	files, err := filepath.Glob(filepath.Join(directory, "recordings", "*"))
	must(err)
	for _, path := range files {
		content, err := os.ReadFile(path)
		must(err)
		recorded.Write(content)
	}

	r, err := recording.Open(filepath.Join(directory, "recordings"))
	must(err)
	t.Cleanup(func() { _ = r.Close() }) // it was only read
	oldest, newest := r.Span()
	var report strings.Builder
	for _, by := range evaluation.Groupings {
		q := evaluation.Question{From: oldest.Truncate(time.Minute), To: newest.Truncate(time.Minute).Add(time.Minute), Oldest: oldest, Newest: newest, By: by}
		b, err := gather.Report(r, q, &action.Log{Directory: directory})
		must(err)
		encoded, err := schema.Encode(b.Report(newest))
		must(err)
		report.Write(encoded)
	}

	log := action.Log{Directory: directory}
	entry := action.NewEntry("flush", row.ID.Process, action.Command("flush"))
	entry.About(snap, row.ID.Process)
	must(log.Record(entry))
	logged, err := os.ReadFile(filepath.Join(directory, action.LogName))
	must(err)

	csv.WriteString(render.CSV(snap))
	exported, said, code := ran(t, "export", filepath.Join(directory, "recordings"), "--format", "csv")
	if code != command.ExitOK {
		t.Fatal(said)
	}
	csv.WriteString(exported)
	return map[string]string{
		"metrics": get("/metrics"), "snapshot.json": get("/snapshot.json"), "recording": recorded.String(), "report": report.String(),
		"log": string(logged), "csv": csv.String(),
	}
}
