package exporter

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestErrorsBeforeTheFirstReport: a process may have failed before its probe was found.
// What it counted is counted once, unless it failed before the exporter was there.
func TestErrorsBeforeTheFirstReport(t *testing.T) {
	first := snapshottest.DrawnBox()
	first.Rows = first.Rows[:1]
	uuid := first.Rows[0].ID.GPUUUID
	e := exporting(first)
	counts := func(n int64) quantity.Optional[int64] { return quantity.From(n, quantity.Probe) }
	later := func(seconds int, events []snapshot.Event, rows ...snapshot.Process) {
		snap := *first
		snap.Time, snap.Rows = first.Time.Add(time.Duration(seconds)*time.Second), append(first.Rows[:1:1], rows...)
		e.Observe(&snap, events)
	}
	row := func(pid int, started time.Time, probe *snapshot.Probe) snapshot.Process {
		p := first.Rows[0]
		p.ID.Process.PID, p.Started, p.Probe = pid, started, probe
		return p
	}
	failed := &snapshot.Probe{State: snapshot.ProbeLive, OutOfMemoryCount: counts(2), AllocRetries: counts(3)}
	old, young := row(1, first.Time.Add(-time.Hour), failed), row(2, first.Time.Add(500*time.Millisecond), failed)
	unprobed := young
	unprobed.Probe = nil
	later(1, nil, unprobed)
	// The sampler has an event of one of the two failures.
	later(2, []snapshot.Event{{Kind: snapshot.EventOutOfMemory, GPUUUID: uuid, Row: young.ID}}, old, young)
	later(3, nil, old, young)
	failed = &snapshot.Probe{State: snapshot.ProbeLive, OutOfMemoryCount: counts(3), AllocRetries: counts(4)}
	later(4, []snapshot.Event{{Kind: snapshot.EventOutOfMemory, GPUUUID: uuid, Row: old.ID}}, row(1, old.Started, failed), young)
	text := scrape(t, e)
	of := `{gpu="` + number(first.Rows[0].GPU) + `",uuid="` + uuid + `"} `
	has(t, text, "vramscope_gpu_out_of_memory_total"+of+"3", "vramscope_gpu_alloc_retries_total"+of+"4")
}
