package exporter

import (
	"fmt"
	"strings"
	"testing"

	"vramscope/sampler/snapshot/snapshottest"
)

// TestLargestProcesses: all processes but the largest are one series, and the total stays the same.
func TestLargestProcesses(t *testing.T) {
	snap := snapshottest.Crowded(2, 40)
	text := scrape(t, exporting(snap, func(o *Options) { o.Processes = 3 }))
	if n := strings.Count(text, "\nvramscope_process_memory_cached_bytes{"); n != 2*4 {
		t.Errorf("%d series of 2 GPUs", n)
	}
	has(t, text, `vramscope_process_info{name="other",pid="other",uuid="`+snap.GPUs[0].UUID+`"} 1`)
	everything := 0.
	for p := range snap.GPURows(snap.GPUs[0].UUID) {
		everything += float64(p.Cached.Or(0))
	}
	sum := 0.
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "vramscope_process_memory_cached_bytes{") && strings.Contains(line, snap.GPUs[0].UUID) {
			var v float64
			_, _ = fmt.Sscan(line[strings.Index(line, "} ")+2:], &v) // an error makes the sum wrong
			sum += v
		}
	}
	if sum != everything {
		t.Errorf("the series add up to %v, not to %v", sum, everything)
	}
}

// TestWithoutPIDs: figures are summed by the remaining labels. A user with the name "other" is part of
// the series that sums the rest.
func TestWithoutPIDs(t *testing.T) {
	snap := snapshottest.Crowded(1, 12)
	snap.Rows[0].User = other
	only := func(labels ...string) func(*Options) {
		return func(o *Options) { o.ProcessLabels, o.Processes = labels, 2 }
	}
	text := scrape(t, exporting(snap, only("user")))
	if strings.Contains(text, "vramscope_process_info") || strings.Contains(text, "pid=") {
		t.Error("there are pids")
	}
	if n := strings.Count(text, "\nvramscope_process_memory_used_bytes{"); n != 3 {
		t.Errorf("%d series:\n%s", n, text)
	}
	has(t, text, `vramscope_process_memory_allocated_bytes{user="bob",uuid="`+snap.GPUs[0].UUID+`"} `+fmt.Sprint(4*float64(snap.Rows[1].Allocated.Or(0))))
	if text := scrape(t, exporting(snap, only())); strings.Contains(text, "vramscope_process_") {
		t.Error("series of processes without a label")
	}
}

// TestReusedPID: two processes with the same PID share one series, which sums their memory.
func TestReusedPID(t *testing.T) {
	snap := snapshottest.Crowded(1, 2)
	first, second := &snap.Rows[0], &snap.Rows[1]
	second.ID.Process.PID, second.User = first.ID.Process.PID, "someone"
	text := scrape(t, exporting(snap))
	of := fmt.Sprintf(`pid="%d",uuid="%s"} `, first.ID.Process.PID, snap.GPUs[0].UUID)
	has(t, text, "vramscope_process_memory_used_bytes{"+of+fmt.Sprint(float64(first.Used.Or(0)+second.Used.Or(0))))
	if n := strings.Count(text, "\nvramscope_process_info{"); n != 1 {
		t.Errorf("%d names", n)
	}
}
