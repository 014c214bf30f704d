package sampler

import (
	"encoding/binary"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// FuzzReports checks that, for any reports of three probes and any readings of the driver, the memory
// that the snapshot shows is within the driver's readings and a tolerance.
func FuzzReports(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef"))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 9, 3, 0, 0, 0x20, 0, 0x10, 0, 0xff, 0, 0, 1, 2, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, script []byte) {
		next := func() int64 {
			var word [4]byte
			script = script[copy(word[:], script):]
			return int64(binary.LittleEndian.Uint32(word[:]))
		}
		b := newBox(1)
		for pid := 101; pid < 103; pid++ { // processes that the driver does not list
			b.processes[pid] = info(pid, 1000)
		}
		s := b.sampler(noDeadline)
		var most quantity.Bytes
		for range 8 {
			used := quantity.Bytes(next()%80) * gib
			b.use("GPU-0", used)
			if next()%4 == 0 { // the driver does not report the memory of processes
				b.readings["GPU-0"].Processes[0].Used = quantity.Optional[quantity.Bytes]{}
			}
			b.answers = nil
			for pid := 100; pid < 103; pid++ {
				b.answers = append(b.answers, probe.Answer{
					Process: b.processes[pid].Identity, At: b.now.Add(time.Second - time.Duration(next()%4000-1000)*time.Millisecond),
					Hello:  probe.Hello{Evictable: []probe.Evictable{{Name: "kv", Bytes: sizeOf(next())}}},
					Report: probe.Report{Devices: []probe.Device{{UUID: "GPU-0", Total: sizeOf(next()), Allocators: []probe.Allocator{hostileAllocator(next)}}}},
				})
			}
			most = max(most, used)
			checkAgainstDriver(t, b.tick(s), most, used)
		}
	})
}

func sizeOf(word int64) snapshot.Bytes {
	if word%5 == 0 {
		return snapshot.Bytes{}
	}
	size := quantity.Bytes(word) * quantity.MiB % quantity.PiB
	if word%3 == 0 {
		size %= 16 * gib // an amount that is often possible
	}
	return reported(size)
}

func hostileAllocator(next func() int64) probe.Allocator {
	a := probe.Allocator{Kind: "x"}
	for _, part := range []*snapshot.Bytes{
		&a.Reserved, &a.Allocated, &a.Cached, &a.Fragmented, &a.Returnable, &a.Pending,
		&a.LargestFree, &a.PeakAllocated, &a.PeakReserved,
	} {
		*part = sizeOf(next())
	}
	if left, known := a.Reserved.Value(); known { // package probe refuses parts that exceed the reserved memory
		for _, part := range []*snapshot.Bytes{&a.Allocated, &a.Cached, &a.Fragmented} {
			if v, known := part.Value(); known {
				*part = reported(min(v, left))
				left -= min(v, left)
			}
		}
	}
	a.Pools = []probe.Pool{{Name: "small", Reserved: sizeOf(next())}}
	return a
}

// checkAgainstDriver checks a snapshot. most is the highest of the driver's readings.
func checkAgainstDriver(t *testing.T, snap *snapshot.Snapshot, most, used quantity.Bytes) {
	t.Helper()
	limit := most + snapshot.Tolerance(most)
	for i := range snap.Rows {
		p := &snap.Rows[i]
		now := p.Used.Or(used)
		for name, v := range map[string]snapshot.Bytes{"allocated": p.Allocated, "cached": p.Cached, "fragmented": p.Fragmented} {
			// An older report may be shown for three seconds.
			if p.Probe.Age < 2*time.Second && p.Used.Known() && v.Or(0) > limit || v.Or(0) > 82*gib {
				t.Errorf("PID %d: %s is %v of %v", p.ID.Process.PID, name, v, most)
			}
		}
		if p.Returnable.Or(0) > now || p.Frees() > now && p.Used.Known() {
			t.Errorf("PID %d: %v returnable, a flush frees %v, of %v", p.ID.Process.PID, p.Returnable, p.Frees(), now)
		}
		if other := p.Other.Or(0); -other > snapshot.Tolerance(now) || p.Unreturnable().Or(0) < 0 {
			t.Errorf("PID %d: other is %v, unreturnable %v", p.ID.Process.PID, other, p.Unreturnable())
		}
		for _, cache := range p.Evictable {
			if cache.Bytes.Or(0) > 82*gib {
				t.Errorf("PID %d: a cache of %v", p.ID.Process.PID, cache.Bytes)
			}
		}
	}
	parts := snap.GPUs[0].Parts
	if sum := quantity.Sum(parts.Unknown, parts.Other, parts.Allocated, parts.Fragmented, parts.Returnable).Or(0); sum > used+3*snapshot.Tolerance(80*gib) {
		t.Errorf("the parts make %v of %v: %+v", sum, used, parts)
	}
	if parts.Returnable.Or(0) > used {
		t.Errorf("%v returnable of %v", parts.Returnable, used)
	}
}

// A process has emptied its cache after its probe read it, but before a command that samples once
// has started.
func TestReportsFromBeforeTheDriversReadingsAreNotRejected(t *testing.T) {
	r, now := &reports{}, time.Now()
	old := report{device: &probe.Device{}, at: now.Add(-time.Second), held: 14 * gib}
	for range recentReadings - 1 {
		if shown, why := r.take(now, old, bound{limit: 13 * gib, name: "driver", at: now}, 80*gib); shown.device != nil || why != "" {
			t.Fatalf("shown is %+v, rejected %q; want neither", shown, why)
		}
		now = now.Add(20 * time.Millisecond)
	}
	fresh := report{device: &probe.Device{}, at: now, held: 12 * gib}
	if shown, why := r.take(now, fresh, bound{limit: 13 * gib, name: "driver", at: now}, 80*gib); !shown.same(&fresh) || why != "" {
		t.Errorf("shown is %+v, rejected %q; want the fresh report", shown, why)
	}
}
