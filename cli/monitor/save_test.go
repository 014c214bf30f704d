package monitor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// TestSavedSnapshotIsTheJSONOfOnce: the file of the key w has the format of once --format json, and
// only its owner can read it.
func TestSavedSnapshotIsTheJSONOfOnce(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "state", "vramscope")
	snap := snapshottest.DrawnBox()
	want, err := schema.Encode(schema.Of(snap))
	if err != nil {
		t.Fatal(err)
	}
	path, err := saveSnapshot(directory, snap)
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(directory, "snapshot-20261120-120417.000.json") {
		t.Errorf("saved as %s", path)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes (%v), once --format json %d", len(got), err, len(want))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v (%v)", info.Mode(), err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, want 1 (%v)", len(entries), err)
	}
}

// TestSaveKeepsEarlierFilesOfTheSameSecond: two samples within a second make two files.
func TestSaveKeepsEarlierFilesOfTheSameSecond(t *testing.T) {
	directory := t.TempDir()
	first, second := snapshottest.DrawnBox(), snapshottest.DrawnBox()
	second.Time = first.Time.Add(200 * time.Millisecond)
	second.GPUs = second.GPUs[:1]
	saved := map[string]*snapshot.Snapshot{}
	for _, snap := range []*snapshot.Snapshot{first, second} {
		path, err := saveSnapshot(directory, snap)
		if err != nil {
			t.Fatal(err)
		}
		saved[path] = snap
	}
	for path, snap := range saved {
		want, err := schema.Encode(schema.Of(snap))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what was saved there (%v)", path, err)
		}
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 2 {
		t.Errorf("%d files, want 2 (%v)", len(entries), err)
	}
}

// TestSaveReportsWhyItFailed: a directory that cannot be made is an error with its name.
func TestSaveReportsWhyItFailed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := saveSnapshot(filepath.Join(file, "vramscope"), snapshottest.DrawnBox())
	if err == nil || !strings.HasPrefix(err.Error(), "snapshot not saved: not a directory: "+file) {
		t.Errorf("saved as %q, %v", path, err)
	}
}
