package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/recording"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestRecorderWaitsForItsDirectory: it is tried again, and says meanwhile why nothing is recorded.
func TestRecorderWaitsForItsDirectory(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "recordings")
	if err := os.WriteFile(directory, nil, 0o600); err != nil { // not a directory
		t.Fatal(err)
	}
	s, now := config.Defaults(), time.Now()
	p := &command.Program{Now: func() time.Time { return now }}
	r := newRecorder(p, &s, directory)
	snap := snapshottest.DrawnBox()
	if err := r.Append(snap, nil); err != nil || !strings.Contains(r.Paused(), "not a directory") {
		t.Errorf("%v, %q", err, r.Paused())
	}
	if err := os.Remove(directory); err != nil {
		t.Fatal(err)
	}
	if err := r.Append(snap, nil); err != nil || r.Paused() == "" {
		t.Errorf("before the time: %v, %q", err, r.Paused())
	}
	now = now.Add(recordRetry)
	if err := r.Append(snap, nil); err != nil || r.Paused() != "" {
		t.Errorf("then: %v, %q", err, r.Paused())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := r.Counts(); got.Errors != 1 || got.Lost != 2 || got.Written.IsZero() {
		t.Errorf("one error and two samples lost: %+v", got)
	}
	opened, err := recording.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	_ = opened.Close()
}
