package recording

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// synthetic makes the snapshots of a box of any size, much faster than a sampler. On average the used
// memory of a process changes every four minutes, and one process an hour is replaced by another. CPU
// and the allocated memory of every fourth process are noise.
type synthetic struct {
	random *rand.Rand
	now    time.Time
	snap   *snapshot.Snapshot
	pid    int
}

func newSynthetic(gpus, rows int) *synthetic {
	s := &synthetic{random: rand.New(rand.NewPCG(uint64(gpus), uint64(rows))), now: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC), pid: 1000}
	s.snap = &snapshot.Snapshot{
		Interval: time.Second, Simulated: true, ProbeSeen: true,
		Host:   snapshot.Host{Name: "box", User: "root", MemoryTotal: quantity.From(512*quantity.GiB, quantity.System)},
		Driver: snapshot.Driver{Version: "550.163.01", State: snapshot.DriverOK},
	}
	for i := range gpus {
		g := snapshot.GPU{Index: i, UUID: fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", i), Name: "NVIDIA H100 80GB HBM3", State: snapshot.GPUOK}
		g.Memory.Total, g.Memory.Reserved = driver(80*quantity.GiB), driver(quantity.GiB)
		s.snap.GPUs = append(s.snap.GPUs, g)
		for range rows {
			s.snap.Rows = append(s.snap.Rows, s.process(&g))
		}
	}
	return s
}

func driver(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Driver) }
func probed(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Probe) }

func (s *synthetic) process(g *snapshot.GPU) snapshot.Process {
	s.pid++
	return snapshot.Process{
		ID:  snapshot.RowID{Process: process.Identity{PID: s.pid, StartTime: uint64(s.pid) * 100, Namespace: 4026531836}, GPUUUID: g.UUID},
		GPU: g.Index, User: "alice", Name: "python3", Command: []string{"python3", "/home/alice/train.py", "--lr", "3e-4"}, Type: "C",
		UID: quantity.From(uint32(1000), quantity.System), Runtime: "PyTorch", RuntimeVersion: "2.8.0", Used: driver(quantity.GiB),
		Allocators: []snapshot.Allocator{{Kind: "pytorch", Basis: "stranded"}},
		Probe:      &snapshot.Probe{State: snapshot.ProbeLive, Capabilities: []string{"flush"}, OutOfMemoryCount: quantity.From(int64(0), quantity.Probe)},
	}
}

// next returns the snapshot of the next second.
func (s *synthetic) next() *snapshot.Snapshot {
	return s.after(time.Second + time.Duration(s.random.IntN(2000))*time.Microsecond)
}

func (s *synthetic) after(step time.Duration) *snapshot.Snapshot {
	s.now = s.now.Add(step)
	then := *s.snap
	then.Time = s.now
	then.Sequence++
	then.GPUs, then.Rows = append([]snapshot.GPU(nil), s.snap.GPUs...), append([]snapshot.Process(nil), s.snap.Rows...)
	random := s.random
	used := make(map[string]quantity.Bytes)
	for i := range then.Rows {
		p := &then.Rows[i]
		if random.IntN(3600*len(then.Rows)) == 0 {
			*p = s.process(&then.GPUs[p.GPU])
		}
		own := p.Used.Or(0)
		if random.IntN(240) == 0 {
			own = quantity.Bytes(random.Int64N(1000)) << 21
		}
		p.Used = driver(own)
		allocated := own / 2
		if i%4 == 0 {
			allocated = own/4 + quantity.Bytes(random.Int64N(int64(own/4+1)))&^511
		}
		p.Allocated, p.Cached = probed(allocated), probed(own/8*7-allocated)
		p.Fragmented, p.Returnable, p.Other = probed(0), p.Cached, quantity.From(own-own/8*7, quantity.Computed)
		p.Host = quantity.From(quantity.Bytes(s.pid)<<21+quantity.Bytes(random.Int64N(1<<20)), quantity.System)
		p.CPU = quantity.From(float64(100+random.IntN(30)), quantity.System)
		p.SMUtilization = quantity.From(90+random.IntN(10), quantity.Driver)
		p.Peak = driver(max(p.Peak.Or(0), own))
		used[p.ID.GPUUUID] += own
	}
	for i := range then.GPUs {
		g := &then.GPUs[i]
		g.Memory.Used = driver(used[g.UUID])
		g.Memory.Free = driver(79*quantity.GiB - used[g.UUID])
		for id := metric.FirstSensor; id < metric.Count; id++ {
			v := 50 + random.IntN(10)
			if id > metric.PCIeSent { // these rarely change
				v = int(id)
			}
			g.Set(id, quantity.From(float64(v), quantity.Driver))
		}
		g.TemperatureSlowdown, g.PowerLimit = quantity.From(90, quantity.Driver), quantity.From(700.0, quantity.Driver)
		g.Parts = snapshot.PartsOf(g.Memory.Used, nil, func(*snapshot.Process) bool { return false })
	}
	s.snap = &then
	return &then
}

// BenchmarkAppend measures the cost of a tick to the writing goroutine, with a commit for every second
// tick, and with sealing and checkpoints.
func BenchmarkAppend(bench *testing.B) {
	for _, size := range []struct {
		name       string
		gpus, rows int
	}{{"8x8", 8, 8}, {"16x64", 16, 64}} {
		bench.Run(size.name, func(bench *testing.B) {
			w, err := newWriter(bench.TempDir(), Options{})
			if err != nil {
				bench.Fatal(err)
			}
			box := newSynthetic(size.gpus, size.rows)
			bench.ReportAllocs()
			n := 0
			for bench.Loop() {
				bench.StopTimer()
				snap := box.next()
				bench.StartTimer()
				w.write(tick{snap, nil})
				if n++; n%2 == 0 {
					w.commit()
				}
			}
			bench.StopTimer()
			if s := w.State(); s.Paused || s.Lost > 0 {
				bench.Fatalf("%+v", s)
			}
			if err := w.end(); err != nil {
				bench.Fatal(err)
			}
			bench.ReportMetric(float64(sizeOf(filepath.Join(w.directory, fileOf(box.now))))/float64(n), "B/tick")
		})
	}
}

type quiet struct {
	*synthetic
	t testing.TB
	w *Writer
}

func newQuiet(t testing.TB, directory string, options Options) *quiet {
	t.Helper()
	w, err := newWriter(directory, options)
	if err != nil {
		t.Fatal(err)
	}
	w.retry = 0
	return &quiet{newSynthetic(2, 3), t, w}
}

func (q *quiet) record(ticks int) (moments []*snapshot.Snapshot) {
	for range ticks {
		snap := q.next()
		q.w.write(tick{snap, nil})
		moments = append(moments, snap)
	}
	q.w.commit()
	return moments
}

func (q *quiet) end() *Recording {
	q.t.Helper()
	if err := q.w.end(); err != nil {
		q.t.Fatal(err)
	}
	return read(q.t, q.w.directory)
}

func has(t testing.TB, r *Recording, moments []*snapshot.Snapshot) {
	t.Helper()
	for _, want := range moments {
		got, ok := r.At(want.Time)
		if !ok || !got.Time.Equal(want.Time) || len(got.Rows) != len(want.Rows) {
			t.Fatalf("at %v: %v %+v", want.Time, ok, got)
		}
		for i := range want.Rows {
			w := &want.Rows[i]
			if g := got.Row(w.ID); g == nil || g.Used != w.Used || g.Allocated != w.Allocated {
				t.Fatalf("at %v: row %+v, want %+v", want.Time, g, w)
			}
		}
	}
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it did not happen within a minute")
		}
	}
}
