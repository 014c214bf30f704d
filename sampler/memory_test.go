package sampler

import (
	"runtime"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

// TestMemoryOfARow holds what a row takes of the heap after three minutes, snapshot,
// history and forecasts included: a box with 5,000 processes has as many.
func TestMemoryOfARow(t *testing.T) {
	for _, tc := range []struct {
		name  string
		moves bool
		most  int64 // bytes
	}{{"still", false, 5000}, {"moving", true, 19000}} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const gpus, processes = 2, 128
		b := fullBox(gpus, processes)
		s := b.sampler()
		for tick := range 200 {
			b.mu.Lock()
			b.now = b.now.Add(time.Second)
			for i := range b.devices {
				for j := range b.readings[b.devices[i].UUID].Processes {
					if tc.moves {
						b.readings[b.devices[i].UUID].Processes[j].Used = measured(gib + quantity.Bytes(tick%7)<<20)
					}
				}
			}
			b.mu.Unlock()
			s.Tick(b.now)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		row := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / (gpus * processes)
		runtime.KeepAlive(s)
		runtime.KeepAlive(b)
		t.Logf("%s: %d bytes a row", tc.name, row)
		if row > tc.most || row <= 0 {
			t.Errorf("%s: %d bytes a row, at most %d are allowed", tc.name, row, tc.most)
		}
	}
}
