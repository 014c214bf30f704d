package recording

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRecordingOfAnOlderProgram: what the program of the commit before 9b14e9a9, with schema
// 2, recorded in 25 seconds of a simulated box of one GPU.
func TestRecordingOfAnOlderProgram(t *testing.T) {
	packed, err := os.Open(filepath.Join("testdata", "schema2.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint32{1, 2} { // the first has some tables less
		directory := t.TempDir()
		binary.BigEndian.PutUint32(content[60:], version) // user_version, https://www.sqlite.org/fileformat.html
		if err := os.WriteFile(filepath.Join(directory, "2026-11-24.db"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		r := read(t, directory)
		oldest, newest := r.Span()
		if d := newest.Sub(oldest); d < 20*time.Second || d > 30*time.Second {
			t.Errorf("it spans %s", d)
		}
		snap, ok := r.At(newest)
		if !ok || !snap.Simulated || len(snap.GPUs) != 1 || len(snap.Rows) != 1 {
			t.Fatalf("%v %+v", ok, snap)
		}
		if p := &snap.Rows[0]; p.User != "bob" || p.Used.Or(0) == 0 || !p.Returnable.Known() || snap.GPUs[0].Memory.Used.Or(0) < p.Used.Or(0) {
			t.Errorf("%+v", p)
		}
		if rows, err := r.Processes(oldest, newest); err != nil || len(rows) != 1 {
			t.Errorf("%+v, %v", rows, err)
		}
		if decisions, err := r.Decisions(oldest, newest); err != nil || len(decisions) > 0 {
			t.Errorf("%+v, %v", decisions, err)
		}
		if problems := r.Problems(); len(problems) > 0 {
			t.Error(problems)
		}
	}
}
