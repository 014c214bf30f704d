package schema

import (
	"strings"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestAllocatorFigures(t *testing.T) {
	size := func(n quantity.Bytes) snapshot.Bytes { return quantity.From(n, quantity.Probe) }
	count := func(n int64) quantity.Optional[int64] { return quantity.From(n, quantity.Probe) }
	snap := &snapshot.Snapshot{
		GPUs: []snapshot.GPU{{UUID: "GPU-1"}},
		Rows: []snapshot.Process{{
			ID: snapshot.RowID{GPUUUID: "GPU-1"}, RuntimeVersion: "2.6.0", Evictable: []snapshot.Evictable{{Name: "cache\x1b[2J", Priority: 2.5}, {Name: "kv", Bytes: quantity.From(3*quantity.GiB, quantity.Probe)}},
			Probe: &snapshot.Probe{State: snapshot.ProbeLive, StartedBy: "run", Capabilities: []string{"flush"}},
			Allocators: []snapshot.Allocator{{
				Kind: "raw", PeakAllocated: size(11), PeakReserved: size(12), Blocks: count(13), StrandedSegments: count(14), FailedAllocations: count(21), Config: "a:b",
				Pools:   []snapshot.Pool{{Name: "small", Reserved: size(15), Allocated: size(16), Segments: count(18)}},
				Largest: []snapshot.Allocation{{Bytes: 19, AgeSeconds: quantity.From(1.5, quantity.Probe), API: "cuMemAlloc"}},
			}},
		}},
	}
	out, err := Encode(Of(snap))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(out)), " ")
	for _, want := range []string{
		`"peak_allocated_bytes": 11, "peak_reserved_bytes": 12, "blocks": 13, "stranded_segments": 14, "failed_allocations": 21, "config": "a:b"`,
		`{ "name": "small", "reserved_bytes": 15, "allocated_bytes": 16, "fragmented_bytes": null, "segments": 18 }`,
		`{ "bytes": 19, "age_seconds": 1.5, "api": "cuMemAlloc", "library": null }`,
		`"started_by": "run", "capabilities": [ "flush" ]`,
		`"runtime_version": "2.6.0", "evictable": [ { "name": "cache\u001b[2J", "priority": 2.5, "bytes": null }, { "name": "kv", "priority": 0, "bytes": 3221225472 } ]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}
