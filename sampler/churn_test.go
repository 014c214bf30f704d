package sampler

import (
	"runtime"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/nvml"
)

// The memory that the sampler keeps for exited processes does not grow with their number.
func TestProcessesThatComeAndGoTakeNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("50,000 processes")
	}
	b := newBox(1)
	s := b.sampler()
	next, each := 1000, 16
	inUse := func(ticks int) int64 {
		for range ticks {
			r := b.readings["GPU-0"]
			r.Processes = nil
			clear(b.processes)
			for i := range each {
				next++
				b.processes[next] = info(next, uint64(next))
				r.Processes = append(r.Processes, nvml.Process{PID: next, Type: nvml.Compute, Used: measured(quantity.Bytes(i+1) * quantity.GiB)})
			}
			b.readings["GPU-0"] = r
			b.tick(s)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	first := inUse(1000)
	second := inUse(2000)
	t.Logf("%.2f MB after 16,000 processes, %.2f after 48,000", float64(first)/1e6, float64(second)/1e6)
	if second > first+first/10 {
		t.Errorf("%.2f MB after 16,000 processes, %.2f after 48,000", float64(first)/1e6, float64(second)/1e6)
	}
	runtime.KeepAlive(s)
}
