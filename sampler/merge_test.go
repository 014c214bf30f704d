package sampler

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
)

// hasty knows only of the first processes that it is asked about, as a table that is not
// waited for.
type hasty struct{ *box }

func (h hasty) Processes(now time.Time, pids []int, found func(*process.Info)) {
	h.box.Processes(now, pids[:2], found)
}

// TestFirstSampleNamesTheLargest: a monitor's first screen shows them.
func TestFirstSampleNamesTheLargest(t *testing.T) {
	b := newBox(2)
	for pid, used := range map[int]quantity.Bytes{102: 30 * gib, 103: 20 * gib} {
		r := b.readings["GPU-1"]
		r.Processes = append(r.Processes, nvml.Process{PID: pid, Type: nvml.Compute, Used: measured(used)})
		b.readings["GPU-1"], b.processes[pid] = r, info(pid, 1000)
	}
	snap := b.tick(b.sampler(func(o *Options) { o.Processes = hasty{b} }))
	var named []int
	for _, p := range snap.Rows {
		if p.User != "" {
			named = append(named, p.ID.Process.PID)
		}
	}
	if slices.Sort(named); !reflect.DeepEqual(named, []int{102, 103}) {
		t.Errorf("named are %v of %d rows", named, len(snap.Rows))
	}
}
