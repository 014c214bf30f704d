package sampler

import (
	"reflect"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// filled has every stat, each with a value of its own.
func filled() probe.Allocator {
	next := quantity.Bytes(0)
	size := func() *quantity.Bytes { next += quantity.MiB; v := next; return &v }
	count := func() *int64 { v := int64(*size() / quantity.MiB); return &v }
	age := 2.5
	return probe.Allocator{
		Kind: "pytorch", Handle: 7, Basis: probe.Stranded,
		ReservedBytes: size(), AllocatedBytes: size(), CachedBytes: size(), FragmentedBytes: size(), ReturnableBytes: size(), ReturnableBound: probe.Most,
		PendingBytes: size(), LargestFreeBytes: size(), AsleepBytes: size(), Segments: count(), OutOfMemoryCount: count(), AllocRetries: count(),
		PeakAllocatedBytes: size(), PeakReservedBytes: size(), Blocks: count(), StrandedSegments: count(), Config: "x:y",
		FailedAllocations: count(),
		Pools:             []probe.Pool{{Name: "small", ReservedBytes: size(), AllocatedBytes: size(), FragmentedBytes: size(), Segments: count()}},
		Largest:           []probe.Allocation{{Bytes: 5, AgeSeconds: &age, API: "cuMemAlloc", Library: "libx.so"}},
	}
}

// TestAllocatorKeepsAllStats fails for a field that is added to the protocol or to
// the snapshot and is not converted.
func TestAllocatorKeepsAllStats(t *testing.T) {
	reported := filled()
	whole(t, "the report", reflect.ValueOf(reported))
	got := allocator(&reported, 80*gib)
	whole(t, "an allocator", reflect.ValueOf(got))
	if got.Largest[0].Age.Or(0) != 2500*time.Millisecond || got.PeakReserved.Or(0) != *reported.PeakReservedBytes ||
		got.Blocks.Or(0) != *reported.Blocks || got.Pools[0].Fragmented.Or(0) != *reported.Pools[0].FragmentedBytes {
		t.Errorf("it became %+v", got)
	}
	if none := allocator(&probe.Allocator{Kind: "raw"}, 80*gib); !reflect.DeepEqual(none, snapshot.Allocator{Kind: "raw"}) {
		t.Errorf("stats that are absent became %+v", none)
	}
}

// whole finds fields that are zero.
func whole(t *testing.T, what string, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		if field.IsZero() {
			t.Errorf("%s: %s is not there", what, name)
		}
		if field.Kind() == reflect.Slice && field.Len() > 0 && field.Index(0).Kind() == reflect.Struct {
			whole(t, what+"'s "+name, field.Index(0))
		}
	}
}

func TestProbeKeepsItsOriginAndCapabilities(t *testing.T) {
	b := newBox(1)
	b.report(31, "GPU-0", 80*gib)
	b.answers[0].Hello = probe.Hello{StartedBy: "attach", Capabilities: []string{"flush", "snapshot"}}
	snap := b.tick(b.sampler())
	for i := range snap.Rows {
		if p := snap.Rows[i].Probe; p != nil {
			if p.StartedBy != "attach" || len(p.Capabilities) != 2 {
				t.Errorf("the probe is %+v", p)
			}
			return
		}
	}
	t.Error("no row has a probe")
}

// TestProbeWithoutAllocators of a Python program that uses no known library.
func TestProbeWithoutAllocators(t *testing.T) {
	b := newBox(1)
	b.report(100, "GPU-0", 80*gib)
	b.answers[0].Hello = probe.Hello{StartedBy: "attach"}
	b.answers[0].Report.Devices = nil
	snap := b.tick(b.sampler())
	for i := range snap.Rows {
		p := &snap.Rows[i]
		if p.ID.Process.PID != 100 {
			continue
		}
		if p.Probe == nil || p.Probe.State != snapshot.ProbeLive || p.Probe.StartedBy != "attach" || p.Allocated.Known() || !p.Used.Known() {
			t.Errorf("the row is %+v with the probe %+v", p, p.Probe)
		}
		return
	}
	t.Error("the process has no row")
}

// answeringLater is a box one of whose probes answers between any two questions.
type answeringLater struct {
	*box
	later []probe.Answer
}

func (b *answeringLater) Unasked() int {
	defer b.oneMore()
	return len(b.later)
}

func (b *answeringLater) Answers() []probe.Answer {
	defer b.oneMore()
	return b.box.Answers()
}

func (b *answeringLater) oneMore() { b.answers, b.later = append(b.answers, b.later[0]), b.later[1:] }

// TestUnaskedCountsEveryRowWithoutAnAnswer, also where one answers meanwhile.
func TestUnaskedCountsEveryRowWithoutAnAnswer(t *testing.T) {
	b := newBox(0)
	for pid := 31; pid < 35; pid++ {
		b.report(pid, "GPU-b", 80*gib)
	}
	later := &answeringLater{box: b, later: b.answers}
	b.answers = nil
	s := b.sampler(func(o *Options) { o.Probes = later })
	if snap := b.tick(s); len(snap.Rows)+snap.ProbesUnasked < 4 {
		t.Errorf("%d rows, %d not asked, of 4 processes", len(snap.Rows), snap.ProbesUnasked)
	}
}

// TestMismatchCountsReports, not ticks: several may come before the next report.
func TestMismatchCountsReports(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	b.use("GPU-0", 10*gib)
	b.tick(s)
	b.answer(100, "GPU-0", 10*gib+16*quantity.MiB, 0, 0, 0)
	for i := range 3 * confirmed {
		if i%confirmed == 0 {
			b.answers[0].At = b.now.Add(time.Second)
		} else { // the report of the tick before
			b.now = b.now.Add(50*time.Millisecond - time.Second)
		}
		if p := b.tick(s).Rows[0]; p.Probe.Mismatch != (i/confirmed >= confirmed-1) {
			t.Errorf("tick %d: mismatch %v", i, p.Probe.Mismatch)
		}
	}
}

// TestOtherIsUnknownWhereALibraryDoesNotReportItsReserve: TensorFlow says what is
// allocated, and may have cached any part of the rest.
func TestOtherIsUnknownWhereALibraryDoesNotReportItsReserve(t *testing.T) {
	b := newBox(1)
	b.use("GPU-0", 10*gib)
	b.says(t, 100, `{"uuid":"GPU-0","allocators":[{"kind":"tensorflow","allocated_bytes":4294967296,"returnable_bytes":0}]}`)
	snap := b.tick(b.sampler(noDeadline))
	p := &snap.Rows[0]
	if got := bytesOf(t, p.Allocated); got != 4*gib || p.Cached.Known() || p.Other.Known() {
		t.Errorf("allocated %v, cached %v, other %v; want 4 GiB and two unknowns", p.Allocated, p.Cached, p.Other)
	}
	if got := bytesOf(t, snap.GPUs[0].Parts.Unknown); got != 6*gib {
		t.Errorf("of the GPU %v is unknown, want the 6 GiB that are not allocated", got)
	}
}
