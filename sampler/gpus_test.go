package sampler

import (
	"fmt"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// report adds a probe of pid on a device of that size.
func (b *box) report(pid int, uuid string, total quantity.Bytes) {
	b.processes[pid] = info(pid, 1000)
	reserved := gib
	b.answers = append(b.answers, probe.Answer{
		Process: b.processes[pid].Identity, At: b.now.Add(time.Second),
		Report: probe.Report{Devices: []probe.Device{{UUID: uuid, Total: reported(total), Allocators: []probe.Allocator{{
			Kind: "raw", Reserved: reported(reserved), Allocated: reported(reserved),
		}}}}},
	})
}

// withoutDriver returns a box on which there is no driver.
func withoutDriver() *box {
	b := newBox(0)
	b.openErr = &nvml.Error{Name: "ERROR_LIBRARY_NOT_FOUND", Call: "dlopen", Kind: nvml.ErrLibraryNotFound}
	return b
}

func TestProbeOnlyGPUsWithoutADriver(t *testing.T) {
	b := withoutDriver()
	b.report(31, "GPU-b", 80*gib)
	b.report(32, "GPU-a", 24*gib)
	b.report(33, "GPU-b", 80*gib)
	s := b.sampler()
	b.tick(s)
	snap := b.tick(s)
	var got string
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		got += fmt.Sprintf("%d %s %s %s;", g.Index, g.UUID, g.Memory.Total.Or(0), g.Parts.Allocated.Or(0))
		if g.Memory.Used.Known() || g.Memory.Free.Known() || g.Memory.Total.Source() != quantity.Probe {
			t.Errorf("%s: %+v, want the total alone, by the probe", g.UUID, g.Memory)
		}
	}
	if want := "0 GPU-b 80.0G 2.00G;1 GPU-a 24.0G 1.00G;"; got != want {
		t.Errorf("the GPUs are %q, want %q", got, want)
	}
	for i, want := range []int{0, 0, 1} {
		if snap.Rows[i].GPU != want || snap.Rows[i].Used.Known() || snap.Rows[i].Other.Known() {
			t.Errorf("row %d stands under GPU %d, used %v", i, snap.Rows[i].GPU, snap.Rows[i].Used)
		}
	}
}

// If the driver lists GPUs, a probe on a GPU that the driver does not list adds no GPU and no row, and
// does not count as seen.
func TestNoGPUByAProbeBesideTheDrivers(t *testing.T) {
	b := newBox(2)
	b.report(31, "GPU-x", 80*gib)
	s := b.sampler()
	snap := b.tick(s)
	if len(snap.GPUs) != 2 || len(snap.Rows) != 2 || snap.ProbeSeen {
		t.Fatalf("%d rows, probe seen %v, the GPUs are %+v", len(snap.Rows), snap.ProbeSeen, snap.GPUs)
	}
	b.report(32, "GPU-1", 99*gib)
	if snap = b.tick(s); !snap.ProbeSeen || len(snap.Rows) != 3 {
		t.Fatalf("%d rows, probe seen %v after a probe on GPU 1", len(snap.Rows), snap.ProbeSeen)
	}
	if total := bytesOf(t, snap.GPUs[1].Memory.Total); total != 80*gib {
		t.Errorf("GPU 1 has %s by a probe, want the driver's 80.0G", total)
	}
}

func TestProbeOnlyGPUsAreLimited(t *testing.T) {
	b := withoutDriver()
	for i := range 3 * maxProbeOnlyGPUs {
		b.report(1000+i, fmt.Sprintf("GPU-%x", 0xabc000+i), 80*gib)
	}
	if snap := b.tick(b.sampler()); len(snap.GPUs) != maxProbeOnlyGPUs || len(snap.Rows) != maxProbeOnlyGPUs {
		t.Errorf("%d GPUs and %d rows", len(snap.GPUs), len(snap.Rows))
	}
}

func TestProbeOnlyGPUsAreForgotten(t *testing.T) {
	b := withoutDriver()
	for i := range maxProbeOnlyGPUs {
		b.report(1000+i, fmt.Sprintf("GPU-%x", 0xabc000+i), 80*gib)
	}
	s := b.sampler()
	b.tick(s)
	b.answers = nil
	b.now = b.now.Add(probeOnlyKept)
	b.tick(s)
	b.report(31, "GPU-x", 80*gib)
	snap := b.tick(s)
	if g := snap.GPU("GPU-x"); g == nil || g.Index != 0 || len(snap.GPUs) != 1 {
		t.Errorf("%d GPUs, GPU-x is %+v, want it alone", len(snap.GPUs), g)
	}
}

func TestProbeOnlyGPUsKeepTheirIndex(t *testing.T) {
	b := withoutDriver()
	b.report(31, "GPU-x", 80*gib)
	b.report(32, "GPU-y", 80*gib)
	s := b.sampler()
	b.tick(s)
	for range 2 {
		b.now = b.now.Add(probeOnlyKept)
		b.answers = nil
		b.report(32, "GPU-y", 80*gib)
		if snap := b.tick(s); len(snap.GPUs) != 1 || snap.GPU("GPU-y").Index != 1 {
			t.Fatalf("%d GPUs, GPU-y is GPU %d, want 1 still", len(snap.GPUs), snap.GPU("GPU-y").Index)
		}
	}
	b.report(33, "GPU-z", 80*gib)
	if snap := b.tick(s); snap.GPU("GPU-z").Index != 0 || snap.GPU("GPU-y").Index != 1 {
		t.Errorf("GPU-z is GPU %d and GPU-y is GPU %d, want 0 and 1", snap.GPU("GPU-z").Index, snap.GPU("GPU-y").Index)
	}
}

func TestNewerAnswerHasNoNegativeAge(t *testing.T) {
	b := newBox(1)
	b.report(100, "GPU-0", 80*gib)
	b.answers[0].At = b.now.Add(time.Minute)
	snap := b.tick(b.sampler())
	if p := snap.Rows[0].Probe; p == nil || p.Age != 0 || p.State != snapshot.ProbeLive {
		t.Errorf("the probe is %+v", p)
	}
}

func TestProbeWithoutAnAnswerIsSilent(t *testing.T) {
	b := newBox(2)
	b.answers = []probe.Answer{{Process: b.processes[100].Identity, Since: b.now.Add(-4 * time.Second), Err: probe.ErrLate}}
	s := b.sampler()
	snap := b.tick(s)
	p := snap.Rows[0]
	if p.Probe == nil || p.Probe.State != snapshot.ProbeSilent || p.Probe.Age != 5*time.Second || p.Allocated.Known() {
		t.Errorf("the row is %+v, its probe %+v", p, p.Probe)
	}
	if why := p.FlushRefusal("alice"); why != "the probe of PID 100 has been silent for 5s" {
		t.Errorf("a flush is refused with %q", why)
	}
	if snap.Rows[1].Probe != nil {
		t.Error("another process has got a probe")
	}
	b.answers[0].Err = nil // the probe has just been found
	if p := b.tick(s).Rows[0]; p.Probe != nil {
		t.Errorf("a probe that has not been asked yet is %+v", p.Probe)
	}
}

func TestPartsOfAGPUDoNotExceedUsed(t *testing.T) {
	claims := func(b *box, pid int, bytes quantity.Bytes) {
		b.answers = append(b.answers, probe.Answer{
			Process: b.processes[pid].Identity, At: b.now.Add(time.Second),
			Report: probe.Report{Devices: []probe.Device{{UUID: "GPU-0", Allocators: []probe.Allocator{{
				Kind: "pytorch", Basis: probe.Stranded, Reserved: reported(bytes), Allocated: reported[quantity.Bytes](0),
				Cached: reported(bytes), Fragmented: reported[quantity.Bytes](0), Returnable: reported(bytes),
			}}}}},
		})
	}
	for _, c := range []struct {
		name        string
		listed, not quantity.Bytes // cached memory that is reported by a listed process of 10 GiB, and by an unlisted one
		returnable  quantity.Bytes // of the GPU, which uses 16 GiB
	}{
		{"honest", 8 * gib, 5 * gib, 13 * gib},
		{"more than the process uses", 60 * gib, 5 * gib, 5 * gib},
		{"a little more, a moment later", 10*gib + 128*mib, 0, 10 * gib},
		{"more than is left for who is not listed", 8 * gib, 9 * gib, 8 * gib},
		{"more than any GPU has", 8 * gib, quantity.PiB, 8 * gib},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(1)
			r := b.readings["GPU-0"]
			r.Memory.Used = measured(16 * gib)
			b.readings["GPU-0"] = r
			b.processes[31] = info(31, 1000)
			s := b.sampler()
			var snap *snapshot.Snapshot
			for range max(confirmed, confirmedDoubt) + 1 {
				b.answers = nil
				claims(b, 100, c.listed)
				claims(b, 31, c.not)
				snap = b.tick(s)
			}
			parts := snap.GPUs[0].Parts
			if got := bytesOf(t, parts.Returnable); got != c.returnable {
				t.Errorf("a flush frees %s, want %s", got, c.returnable)
			}
			if sum := quantity.Sum(parts.Unknown, parts.Other, parts.Allocated, parts.Fragmented, parts.Returnable).Or(0); sum > 17*gib {
				t.Errorf("the parts make %s of 16 GiB", sum)
			}
			for i := range snap.Rows {
				p := &snap.Rows[i]
				impossible := p.ID.Process.PID == 100 && c.listed > 11*gib || p.ID.Process.PID == 31 && c.not > 6*gib
				if (p.Probe.Rejected != "") != impossible || p.Cached.Known() == impossible {
					t.Errorf("PID %d: rejected %q, cached %v", p.ID.Process.PID, p.Probe.Rejected, p.Cached)
				}
				if doubtful := p.ID.Process.PID == 100 && c.listed > 10*gib && !impossible; p.Probe.Mismatch != doubtful {
					t.Errorf("PID %d: mismatch %v", p.ID.Process.PID, p.Probe.Mismatch)
				}
			}
		})
	}
}

func TestGPUsThatProbesInventAreForgotten(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	for i := range 20 {
		b.answers = nil
		b.report(31, fmt.Sprintf("GPU-%x", 0xabc000+i), 80*gib)
		b.tick(s)
		b.tick(s)
		b.now = b.now.Add(probeOnlyKept)
	}
	if n := len(s.down); n > 2 {
		t.Errorf("%d GPUs are remembered as down", n)
	}
}
