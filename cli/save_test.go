package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/sampler/snapshot/snapshottest"
)

// TestSavedSnapshotIsTheJSONOfOnce: what w writes is what scripts know, is
// nobody else's to read, and can be written twice.
func TestSavedSnapshotIsTheJSONOfOnce(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "state", "vramscope")
	snap := snapshottest.DrawnBox()
	var want bytes.Buffer
	if err := writeJSON(&want, snap); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		path, err := saveSnapshot(directory, snap)
		if err != nil {
			t.Fatal(err)
		}
		if path != filepath.Join(directory, "snapshot-20261120-120417.json") {
			t.Errorf("saved as %s", path)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("the file has %d bytes (%v), once --format json %d", len(got), err, want.Len())
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file's mode is %v (%v)", info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, want the one (%v)", len(entries), err)
	}
}

// TestSaveSaysWhyNot: a directory that cannot be made is an error with its name.
func TestSaveSaysWhyNot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := saveSnapshot(filepath.Join(file, "vramscope"), snapshottest.DrawnBox())
	if err == nil || !strings.HasPrefix(err.Error(), "snapshot not saved: not a directory: "+file) {
		t.Errorf("saved as %q, %v", path, err)
	}
}
