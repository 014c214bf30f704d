package simulator_test

import (
	"errors"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

func TestSegmentsAddUpToTheStats(t *testing.T) {
	b := open(t, simulator.Options{})
	compared := 0
	for at := time.Duration(0); at < time.Minute; at += 250 * time.Millisecond {
		m := b.look(at)
		for _, a := range m.Answers {
			found, err := b.Segments(a.Process)
			if refusal := (*probe.Error)(nil); a.Hello.Runtimes[0].Name == "JAX" {
				if !errors.As(err, &refusal) || refusal.Code != probe.Unsupported {
					t.Errorf("JAX has no map: %v", err)
				}
				continue
			}
			if err != nil || found.Devices[0].UUID != a.Report.Devices[0].UUID {
				t.Fatalf("PID %d: %+v, %v", a.Process.PID, found, err)
			}
			if !a.At.Equal(b.clock.Now()) {
				continue // its stats are older than the map
			}
			compared++
			checkMap(t, &found.Devices[0], &a.Report.Devices[0].Allocators[0])
		}
	}
	if compared < 100 {
		t.Errorf("%d maps were compared with stats of the same moment", compared)
	}
}

func checkMap(t *testing.T, d *probe.DeviceSegments, stats *probe.Allocator) {
	t.Helper()
	sums := map[snapshot.BlockState]quantity.Bytes{}
	live, last := int64(0), uint64(0)
	for _, s := range d.Segments {
		if s.Address <= last {
			t.Errorf("the segment at %#x comes after %#x", s.Address, last)
		}
		last = s.Address
		for _, block := range s.Blocks {
			sums[block.State] += block.Size
			if block.State == probe.BlockLive || block.State == probe.BlockPending {
				live++
			}
		}
	}
	if sums[probe.BlockLive]+sums[probe.BlockPending] != stats.Allocated.Or(0) || sums[probe.BlockPending] != stats.Pending.Or(0) ||
		sums[probe.BlockCached] != stats.Returnable.Or(0) || sums[probe.BlockFragmented] != stats.Fragmented.Or(0) ||
		live != stats.Blocks.Or(-1) || int64(len(d.Segments)) != stats.Segments.Or(-1) {
		t.Errorf("%v in %d segments and %d blocks, but the stats are %+v", sums, len(d.Segments), live, stats)
	}
}

func TestSegmentsAreOfOneProcess(t *testing.T) {
	b := open(t, simulator.Options{})
	m := b.look(0)
	id := m.Answers[0].Process
	id.StartTime++
	for _, other := range []process.Identity{id, {PID: 184}, m.Processes[1907].Identity} {
		if _, err := b.Segments(other); err == nil {
			t.Errorf("%+v has a map", other)
		}
	}
}
