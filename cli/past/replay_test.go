package past

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

func TestReplayOfASavedSnapshot(t *testing.T) {
	then := snapshottest.DrawnBox()
	then.Simulated = true
	saved, err := schema.Encode(schema.Of(then))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "saved.json")
	if err := os.WriteFile(path, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	p := &command.Program{}
	history, first, err := openReplay(p, []string{path}, replayFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if !first.Past || !first.Simulated || !first.Time.Equal(then.Time) || len(first.Rows) != len(then.Rows) || first.GPUs[0].Memory.Used.Or(0) != then.GPUs[0].Memory.Used.Or(0) {
		t.Errorf("%+v", first)
	}
	if oldest, newest := history.Span(); !oldest.Equal(newest) {
		t.Errorf("%v to %v", oldest, newest)
	}
	for name, tc := range map[string]struct{ content, want string }{
		"cut.json":   {`{"schema": "vramscope/1", "gpus": [`, "not a snapshot: unexpected EOF"},
		"other.json": {`{"schema": "vramscope.flush/1"}`, "not a snapshot of vramscope/1"},
		"list.json":  {`[]`, "not a snapshot"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := openReplay(p, []string{path}, replayFlags{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, _, err := openReplay(p, []string{filepath.Join(dir, "none.json")}, replayFlags{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

func TestReplayBeginsAtTheLastEventOfAKind(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "recordings")
	w := recording.Start(directory, recording.Options{})
	snap := snapshottest.DrawnBox()
	began := snap.Time
	for second := range 3 {
		next := *snap
		next.Time = began.Add(time.Duration(second) * time.Second)
		var events []snapshot.Event
		if second == 1 {
			events = []snapshot.Event{{Time: next.Time, Kind: snapshot.EventStarted, Row: snap.Rows[0].ID, GPUUUID: snap.GPUs[0].UUID}}
		}
		if err := w.Append(&next, events); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sources.OpenRecording(&command.Program{}, directory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if first, err := (&replayFlags{event: "started"}).begin(r); err != nil || !first.Past || !first.Time.Equal(began.Add(time.Second)) {
		t.Errorf("%+v, %v", first, err)
	}
	if first, err := (&replayFlags{event: "oom"}).begin(r); err == nil || err.Error() != "no event of this kind is recorded: oom" {
		t.Errorf("%+v, %v", first, err)
	}
}
