package main

import (
	"path/filepath"
	"testing"
	"time"

	"vramscope/recording"
)

func TestNightIsRecorded(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "night")
	if err := record(directory, 3*time.Minute); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // the file was only read
	oldest, newest := r.Span()
	if newest.Sub(oldest) != 179*time.Second {
		t.Errorf("recorded from %s to %s", oldest, newest)
	}
	if snap, ok := r.At(newest); !ok || len(snap.GPUs) != 8 || len(snap.Rows) < 10 || len(r.Events(0)) == 0 {
		t.Error("the box is not in it")
	}
}
