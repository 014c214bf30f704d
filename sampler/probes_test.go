package sampler

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// filled returns an allocator with every stat, each with a different value.
func filled() probe.Allocator {
	next := quantity.Bytes(0)
	size := func() snapshot.Bytes { next += quantity.MiB; return reported(next) }
	count := func() quantity.Optional[int64] { return reported(int64(size().Or(0) / quantity.MiB)) }
	return probe.Allocator{
		Kind: "pytorch", Handle: 7, Basis: probe.Stranded,
		Reserved: size(), Allocated: size(), Cached: size(), Fragmented: size(), Returnable: size(), ReturnableBound: snapshot.Most,
		Pending: size(), LargestFree: size(), Asleep: size(), Managed: size(), Segments: count(), OutOfMemoryCount: count(), AllocRetries: count(),
		PeakAllocated: size(), PeakReserved: size(), Blocks: count(), StrandedSegments: count(), Config: "x:y",
		FailedAllocations: count(),
		Pools:             []probe.Pool{{Name: "small", Reserved: size(), Allocated: size(), Fragmented: size(), Segments: count()}},
		Largest:           []probe.Allocation{{Bytes: 5, AgeSeconds: reported(2.5), API: "cuMemAlloc", Library: "libx.so"}},
	}
}

// TestAllocatorKeepsAllStats also fails for a field that filled does not set.
func TestAllocatorKeepsAllStats(t *testing.T) {
	reported := filled()
	whole(t, "the report", reflect.ValueOf(reported))
	if got := allocator(reported, 80*gib); !reflect.DeepEqual(got, reported) {
		t.Errorf("it became %+v", got)
	}
	line, err := json.Marshal(reported)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"pytorch","handle":7,"basis":"stranded","returnable_bound":"most","reserved_bytes":1048576,"allocated_bytes":2097152,"cached_bytes":3145728,` +
		`"fragmented_bytes":4194304,"returnable_bytes":5242880,"pending_bytes":6291456,"largest_free_bytes":7340032,"asleep_bytes":8388608,"managed_bytes":9437184,` +
		`"segments":10,"out_of_memory_count":11,"alloc_retries":12,"failed_allocations":17,"peak_allocated_bytes":13631488,"peak_reserved_bytes":14680064,` +
		`"blocks":15,"stranded_segments":16,"config":"x:y","pools":[{"name":"small","reserved_bytes":18874368,"allocated_bytes":19922944,` +
		`"fragmented_bytes":20971520,"segments":21}],"largest":[{"bytes":5,"age_seconds":2.5,"api":"cuMemAlloc","library":"libx.so"}]}`
	if string(line) != want {
		t.Errorf("in the protocol it is\n%s, want\n%s", line, want)
	}
	if none, err := json.Marshal(allocator(probe.Allocator{Kind: "raw"}, 80*gib)); err != nil || string(none) != `{"kind":"raw"}` {
		t.Errorf("stats that are absent became %s, %v", none, err)
	}
	var read probe.Allocator
	if err := json.Unmarshal(line, &read); err != nil || read.Cached.Or(0) != 3*quantity.MiB || read.Blocks.Or(0) != 15 || read.Largest[0].AgeSeconds.Or(0) != 2.5 {
		t.Errorf("it is read as %+v, %v", read, err)
	}
}

// whole fails for each field that is zero.
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

// A Python program that uses no known library has a probe without allocators.
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

// answeringLater is a box in which one more probe answers after every question.
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

// If a probe answers between the two calls, its process still has a row or counts as unasked.
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

// Mismatches are counted by report, not by tick: several ticks may see the same report.
func TestMismatchCountsReports(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	b.use("GPU-0", 10*gib)
	b.tick(s)
	b.answer(100, "GPU-0", 10*gib+16*quantity.MiB, 0, 0, 0)
	for i := range 3 * confirmed {
		if i%confirmed == 0 {
			b.answers[0].At = b.now.Add(time.Second)
		} else { // the same report as in the last tick
			b.now = b.now.Add(50*time.Millisecond - time.Second)
		}
		if p := b.tick(s).Rows[0]; p.Probe.Mismatch != (i/confirmed >= confirmed-1) {
			t.Errorf("tick %d: mismatch %v", i, p.Probe.Mismatch)
		}
	}
}

// TensorFlow does not report its reserved memory, and may have cached any part of the rest.
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

// A report that a daemon passes on is checked like a probe's own report, and counts only for the
// process with the same identity. The monitor may not read the pid namespaces of other users' processes.
func TestRelayedReportsAreHeldAgainstTheDriver(t *testing.T) {
	for _, c := range []struct {
		name, device string
		identity     func(*process.Identity) // the identity that the daemon sends
		rejected     string
		shown        bool
	}{
		{"possible", `"allocators":[{"kind":"x","reserved_bytes":8589934592,"allocated_bytes":1073741824,"cached_bytes":7516192768,"fragmented_bytes":0}]`, nil, "", true},
		{"impossible", `"allocators":[{"kind":"x","reserved_bytes":21474836480}]`, nil, "reports 20.0G, the driver 10.0G", false},
		{"another process", `"allocators":[{"kind":"x","reserved_bytes":1073741824}]`, func(id *process.Identity) { id.StartTime++ }, "", false},
		{"another namespace", `"allocators":[{"kind":"x","reserved_bytes":1073741824}]`, func(id *process.Identity) { id.Namespace = 9 }, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(1)
			if c.name != "another namespace" {
				unreadable := b.processes[100]
				unreadable.Identity.Namespace = 0
				b.processes[100] = unreadable
			}
			s := b.sampler()
			a := b.says(t, 100, `{"uuid":"GPU-0",`+c.device+`}`)
			a.Daemon, a.Process.Namespace = true, 1
			if c.identity != nil {
				c.identity(&a.Process)
			}
			snap := b.judge(s)
			if len(snap.Rows) != 1 {
				t.Fatalf("%d rows", len(snap.Rows))
			}
			p := &snap.Rows[0]
			switch {
			case c.shown && (p.Probe == nil || !p.Probe.ByDaemon || p.Cached.Or(0) != 7<<30):
				t.Errorf("not shown: %+v, cached %v", p.Probe, p.Cached)
			case !c.shown && p.Cached.Known():
				t.Errorf("shown: %v", p.Cached)
			case c.rejected != "" && (p.Probe == nil || !strings.Contains(p.Probe.Rejected, c.rejected)):
				t.Errorf("rejected: %+v", p.Probe)
			}
		})
	}
}

// A report that counts sleeping memory exceeds the driver's figures. No part of an unconfirmed report
// counts. The next report that agrees with the driver is shown at once, except for impossible peaks.
func TestUnconfirmedReportsAreBelievedAgain(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	claim := func(reserved quantity.Bytes) {
		b.answers = nil
		b.says(t, 100, fmt.Sprintf(`{"uuid":"GPU-0","allocators":[{"kind":"pytorch","reserved_bytes":%d,"allocated_bytes":%d,
			"cached_bytes":%d,"fragmented_bytes":0,"returnable_bytes":%d,"peak_allocated_bytes":%d,"peak_reserved_bytes":%d}]}`,
			reserved, reserved-gib, gib, gib, 101*gib, 102*gib))
	}
	tick := func(used quantity.Bytes) {
		b.use("GPU-0", used)
		claim(42 * gib)
		b.tick(s)
	}
	for range 20 {
		tick(42*gib + gib/2)
	}
	p := &s.Latest().Rows[0]
	if p.Probe.Rejected != "" || p.Cached.Or(0) != gib {
		t.Fatalf("awake: %+v", p.Probe)
	}
	if a := &p.Allocators[0]; a.PeakAllocated.Known() || a.PeakReserved.Known() {
		t.Errorf("the GPU has held %v and %v", a.PeakAllocated, a.PeakReserved)
	}
	for range confirmed + confirmedDoubt {
		tick(2*gib + gib/2)
	}
	snap := s.Latest()
	if p = &snap.Rows[0]; p.Probe.Rejected != "reports 42.0G, the driver 2.50G" || p.Probe.Claimed.Or(0) != 42*gib {
		t.Fatalf("asleep: %+v", p.Probe)
	}
	checkUnknown(t, snap, p)
	if why := p.FlushRefusal("alice"); !strings.Contains(why, p.Probe.Rejected) {
		t.Errorf("a flush is refused with %q", why)
	}
	tick(42*gib + gib/2)
	if p = &s.Latest().Rows[0]; p.Probe.Rejected != "" || p.Probe.Claimed.Known() || p.Returnable.Or(0) != gib {
		t.Errorf("awake again: %+v, returnable %v", p.Probe, p.Returnable)
	}
}
