package schema

import (
	"encoding/json"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestDocumentIsReadBack: a document that is read and written again does not change.
func TestDocumentIsReadBack(t *testing.T) {
	for name, snap := range map[string]*snapshot.Snapshot{
		"drawn": snapshottest.DrawnBox(), "day one": snapshottest.DayOne(), "no driver": snapshottest.NoDriver(), "crowded": snapshottest.Crowded(16, 64),
	} {
		want, err := Encode(Of(snap))
		if err != nil {
			t.Fatal(err)
		}
		var doc Document
		if err := json.Unmarshal(want, &doc); err != nil {
			t.Fatal(err)
		}
		restored := doc.Snapshot()
		got, err := Encode(Of(restored))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s: %s", name, firstDifference(string(got), string(want)))
		}
		for i := range snap.Rows {
			p := restored.Row(snap.Rows[i].ID)
			if p == nil {
				t.Fatalf("%s: %+v is not read back", name, snap.Rows[i].ID)
			}
			if used := snap.Rows[i].Used; p.Used != used {
				t.Errorf("%s: used %+v, want %+v", name, p.Used, used)
			}
		}
		for i := range restored.GPUs {
			// The drawn figures are rounded. The GPUs without a driver have no drawn parts.
			got, want := restored.GPUs[i].Parts, snap.GPU(restored.GPUs[i].UUID).Parts
			if off := got.Unknown.Or(0) - want.Unknown.Or(0); want.Unknown.Known() && (off < -1 || off > 1 || got.Allocated.Or(0) != want.Allocated.Or(0)) {
				t.Errorf("%s: GPU %d: parts %+v, want %+v", name, i, got, want)
			}
		}
	}
}

func firstDifference(a, b string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[max(i-200, 0):min(i+60, len(a))] + "\n--- want\n" + b[max(i-200, 0):min(i+60, len(b))]
		}
	}
	return "one is longer"
}

// FuzzDocument: in any document, impossible used, allocated and cached memory of rows becomes unknown.
func FuzzDocument(f *testing.F) {
	for _, snap := range []*snapshot.Snapshot{snapshottest.DrawnBox(), snapshottest.NoDriver()} {
		encoded, err := Encode(Of(snap))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Add([]byte(`{"gpus":[{"index":0,"memory":{"used_bytes":-1},"processes":[{"pid":1,"used_bytes":9223372036854775807,"other_bytes":-9223372036854775808}]}],"alerts":[{}]}`))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var doc Document
		if json.Unmarshal(encoded, &doc) != nil {
			return
		}
		s := doc.Snapshot()
		if len(s.Rows) > mostRows || len(s.GPUs) > mostGPUs {
			t.Errorf("%d rows, %d GPUs", len(s.Rows), len(s.GPUs))
		}
		for i := range s.Rows {
			for _, b := range []snapshot.Bytes{s.Rows[i].Used, s.Rows[i].Allocated, s.Rows[i].Cached} {
				if v := b.Or(0); v < 0 || v > quantity.PiB {
					t.Errorf("row %d: %v", i, b)
				}
			}
		}
		if _, err := Encode(Of(s)); err != nil {
			t.Error(err)
		}
	})
}
