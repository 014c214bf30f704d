package exporter

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestErrorsBeforeTheFirstReport: an error before a probe's first report counts once, unless the process
// started before the exporter.
func TestErrorsBeforeTheFirstReport(t *testing.T) {
	first := snapshottest.DrawnBox()
	first.Rows = first.Rows[:1]
	uuid := first.Rows[0].ID.GPUUUID
	e := exporting(first)
	counts := func(n int64) quantity.Optional[int64] { return quantity.From(n, quantity.Probe) }
	later := func(seconds int, events []snapshot.Event, rows ...snapshot.Process) {
		snap := *first
		snap.Time, snap.Rows = first.Time.Add(time.Duration(seconds)*time.Second), append(first.Rows[:1:1], rows...)
		e.Observe(&snap, events, nil)
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
	// The sampler has an event of one of the two errors.
	later(2, []snapshot.Event{{Kind: snapshot.EventOutOfMemory, GPUUUID: uuid, Row: young.ID}}, old, young)
	later(3, nil, old, young)
	failed = &snapshot.Probe{State: snapshot.ProbeLive, OutOfMemoryCount: counts(3), AllocRetries: counts(4)}
	later(4, []snapshot.Event{{Kind: snapshot.EventOutOfMemory, GPUUUID: uuid, Row: old.ID}}, row(1, old.Started, failed), young)
	later(62, nil, row(1, old.Started, failed), young)
	text := scrape(t, e)
	of := `{gpu="` + strconv.Itoa(first.Rows[0].GPU) + `",uuid="` + uuid + `"} `
	has(t, text, "vramscope_gpu_out_of_memory_total"+of+"3", "vramscope_gpu_alloc_retries_total"+of+"4")
}

// TestCountersOfProbesBeginAtZero: the counters are unknown without a probe. With a probe they begin at 0, so
// that Prometheus sees the first increase, even if it comes with the first report.
func TestCountersOfProbesBeginAtZero(t *testing.T) {
	snap := snapshottest.DrawnBox()
	for i := range snap.Rows {
		snap.Rows[i].Probe = nil
	}
	e := exporting(snap)
	const outOfMemory, retries = "vramscope_gpu_out_of_memory_total{", "vramscope_gpu_alloc_retries_total{"
	for _, series := range []string{outOfMemory, retries} {
		if text := scrape(t, e); strings.Contains(text, "\n"+series) {
			t.Errorf("%s without a probe", series)
		}
	}
	at := func(seconds int, retried int64, events ...snapshot.Event) string {
		next := *snap
		next.Time = snap.Time.Add(time.Duration(seconds) * time.Second)
		next.Rows = slices.Clone(snap.Rows)
		next.Rows[0].Started = snap.Time.Add(500 * time.Millisecond)
		next.Rows[0].Probe = &snapshot.Probe{State: snapshot.ProbeLive, AllocRetries: quantity.From(retried, quantity.Probe)}
		e.Now = func() time.Time { return next.Time }
		e.Observe(&next, events, nil)
		return scrape(t, e)
	}
	g := snap.GPU(snap.Rows[0].ID.GPUUUID)
	of := `gpu="` + strconv.Itoa(g.Index) + `",uuid="` + g.UUID + `"} `
	text := at(1, 2)
	has(t, text, retries+of+"0")
	if strings.Contains(text, "\n"+outOfMemory) || strings.Count(text, "\n"+retries) != 1 {
		t.Error("a series that no probe reports")
	}
	has(t, at(30, 3, snapshot.Event{Kind: snapshot.EventOutOfMemory, GPUUUID: g.UUID}), retries+of+"0", outOfMemory+of+"0")
	has(t, at(61, 3), retries+of+"3", outOfMemory+of+"0")
	has(t, at(90, 3), retries+of+"3", outOfMemory+of+"1")
}

// TestHealthOfTheDaemon: late samples are counted, and the guard's state says whether it acts.
func TestHealthOfTheDaemon(t *testing.T) {
	snap := snapshottest.DrawnBox()
	snap.Guard, snap.ProbesUnasked = nil, 3
	e := exporting(snap)
	text := scrape(t, e)
	has(t, text, "vramscope_late_samples_total 0", "vramscope_probes_unasked 3")
	if strings.Contains(text, "vramscope_guard_state{") {
		t.Errorf("the state of no guard:\n%s", text)
	}
	for state, g := range map[string]snapshot.Guard{
		"act": {Mode: snapshot.GuardAct}, "dry-run": {Mode: snapshot.GuardDryRun},
		"cannot_act": {Mode: snapshot.GuardDryRun, Cannot: "full"}, "paused": {Mode: snapshot.GuardAct, Paused: snap.Time.Add(24 * time.Hour)},
		"": {Mode: snapshot.GuardOff},
	} {
		next := *snap
		next.Time, next.Guard = snap.Time.Add(next.Interval), &g
		snap = &next
		e.Observe(snap, nil, nil)
		text = scrape(t, e)
		if state == "" {
			if strings.Contains(text, "vramscope_guard_state{") {
				t.Errorf("a guard that is off has a state:\n%s", text)
			}
			continue
		}
		has(t, text, `vramscope_guard_state{state="`+state+`"} 1`, "vramscope_late_samples_total 0")
	}
	late := *snap
	late.Time = snap.Time.Add(5 * snap.Interval)
	e.Observe(&late, nil, nil)
	has(t, scrape(t, e), "vramscope_late_samples_total 1")
}
