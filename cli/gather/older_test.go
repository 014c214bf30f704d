package gather

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
)

// TestReportOfAnOlderRecording: what a program with schema 2 did not record is unknown, and
// what it did record stays known.
func TestReportOfAnOlderRecording(t *testing.T) {
	packed, err := os.Open(filepath.Join("..", "..", "recording", "testdata", "schema2.db.gz"))
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
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "2026-11-24.db"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	oldest, newest := r.Span()
	for by, want := range map[string]string{"user": "bob", "account": "–"} {
		q := evaluation.Question{From: oldest.Truncate(time.Minute), To: newest.Truncate(time.Minute).Add(time.Minute), Oldest: oldest, Newest: newest, By: by}
		b, err := Report(r, q, &action.Log{Directory: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		report := b.Report(newest)
		if len(report.Groups) != 1 {
			t.Fatalf("by %s: %+v", by, report.Groups)
		}
		g := report.Groups[0]
		if g.Name != want || g.HeldGPUHours != nil || g.BusyGPUHours != nil || g.IdleGPUHours != nil || g.EnergyKWh != nil || report.Total.EnergyKWh != nil {
			t.Errorf("by %s: %s", by, show(&g))
		}
		if g.UsedGiBHours == nil || *g.UsedGiBHours <= 0 || !g.PeakBytes.Known() {
			t.Errorf("by %s: %s", by, show(&g))
		}
	}
}
