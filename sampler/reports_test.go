package sampler

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// says adds a report of pid's probe on a device, which is given as JSON. The probe has read it a
// millisecond before the next tick.
func (b *box) says(t *testing.T, pid int, device string) *probe.Answer {
	t.Helper()
	var d probe.Device
	if err := json.Unmarshal([]byte(device), &d); err != nil {
		t.Fatal(err)
	}
	if _, there := b.processes[pid]; !there {
		b.processes[pid] = info(pid, 1000)
	}
	b.answers = append(b.answers, probe.Answer{
		Process: b.processes[pid].Identity, At: b.now.Add(time.Second - time.Millisecond), Report: probe.Report{Devices: []probe.Device{d}},
	})
	return &b.answers[len(b.answers)-1]
}

// judge ticks until no report is doubted. In each tick, each probe repeats its report.
func (b *box) judge(s *Sampler) *snapshot.Snapshot {
	for snap := b.tick(s); ; snap = b.tick(s) {
		if !slices.ContainsFunc(snap.Rows, func(p snapshot.Process) bool { return p.Probe != nil && p.Probe.Doubted }) {
			return snap
		}
		for i := range b.answers {
			b.answers[i].At = b.answers[i].At.Add(time.Second)
		}
	}
}

// checkUnknown checks that the snapshot has nothing that a rejected probe has reported.
func checkUnknown(t *testing.T, snap *snapshot.Snapshot, p *snapshot.Process) {
	t.Helper()
	for name, part := range map[string]snapshot.Bytes{
		"allocated": p.Allocated, "cached": p.Cached, "fragmented": p.Fragmented, "returnable": p.Returnable, "other": p.Other,
	} {
		if part.Known() {
			t.Errorf("%s is %v", name, part)
		}
	}
	if p.Allocators != nil || p.Evictable != nil || p.PredictedAllocated != nil || p.Probe.OutOfMemoryCount.Known() || p.Probe.AllocRetries.Known() {
		t.Errorf("of its report there is %+v, %+v, %+v, %+v", p.Allocators, p.Evictable, p.PredictedAllocated, p.Probe)
	}
	if g := snap.GPU(p.ID.GPUUUID); g.Parts.Allocated.Known() || g.Parts.Returnable.Known() {
		t.Errorf("the GPU's parts are %+v", g.Parts)
	}
}

// GPU 0 has 80 GiB, of which process 100 uses 10 GiB.
func TestImpossibleReportsAreRejected(t *testing.T) {
	const tib = `562949953421312` // 512 TiB in bytes
	hidden := func(b *box) {      // a driver that does not report processes' memory
		b.readings["GPU-0"].Processes[0].Used = quantity.Optional[quantity.Bytes]{}
	}
	lost := func(b *box) { b.readErr["GPU-0"] = lost() }
	none := func(b *box) {
		b.openErr = &nvml.Error{Name: "ERROR_LIBRARY_NOT_FOUND", Call: "dlopen", Kind: nvml.ErrLibraryNotFound}
	}
	for _, c := range []struct {
		name   string
		driver func(*box)
		device string // the report's JSON without uuid
		want   string // the reason; "" if the report is accepted
	}{
		{"reserved", nil, `"allocators":[{"kind":"x","reserved_bytes":` + tib + `}]`, "reports 512T, the GPU has 80.0G"},
		{"allocated alone", nil, `"allocators":[{"kind":"x","allocated_bytes":21474836480}]`, "reports 20.0G, the driver 10.0G"},
		{"returnable alone", nil, `"allocators":[{"kind":"x","returnable_bytes":21474836480}]`, "reports 20.0G, the driver 10.0G"},
		{"pending", nil, `"allocators":[{"kind":"x","pending_bytes":21474836480}]`, "reports 20.0G, the driver 10.0G"},
		{"largest free", nil, `"allocators":[{"kind":"x","largest_free_bytes":21474836480}]`, "reports 20.0G, the driver 10.0G"},
		{"a pool", nil, `"allocators":[{"kind":"x","reserved_bytes":1,"pools":[{"name":"small","fragmented_bytes":21474836480}]}]`, "reports 20.0G, the driver 10.0G"},
		{"an allocation", nil, `"allocators":[{"kind":"x","reserved_bytes":1,"largest":[{"bytes":21474836480}]}]`, "reports 20.0G, the driver 10.0G"},
		{"many allocators", nil, `"allocators":[{"kind":"x","reserved_bytes":6442450944},{"kind":"y","reserved_bytes":6442450944}]`, "reports 12.0G, the driver 10.0G"},
		{"a peak above the process", nil, `"allocators":[{"kind":"x","reserved_bytes":1,"peak_allocated_bytes":21474836480}]`, ""},
		{"a peak above the GPU", nil, `"allocators":[{"kind":"x","reserved_bytes":1,"peak_reserved_bytes":` + tib + `}]`, ""},
		{"within the tolerance", nil, `"allocators":[{"kind":"x","reserved_bytes":10939411660}]`, ""}, // 10 GiB and 1.9 %
		{"another size of the GPU", nil, `"total_bytes":` + tib + `,"allocators":[{"kind":"x","reserved_bytes":1125899906842624}]`, "reports 1.00P, the GPU has 80.0G"},
		{"used unknown, and more than the GPU's", hidden, `"allocators":[{"kind":"x","reserved_bytes":21474836480}]`, "reports 20.0G, the driver leaves 10.0G"},
		{"used unknown", hidden, `"allocators":[{"kind":"x","reserved_bytes":8589934592}]`, ""},
		{"a lost GPU", lost, `"allocators":[{"kind":"x","reserved_bytes":` + tib + `}]`, "reports 512T, the GPU has 80.0G"},
		{"a lost GPU, possible", lost, `"allocators":[{"kind":"x","reserved_bytes":21474836480}]`, ""},
		{"no driver", none, `"total_bytes":85899345920,"allocators":[{"kind":"x","reserved_bytes":` + tib + `}]`, "reports 512T, the GPU has 80.0G"},
		{"no driver, no size", none, `"allocators":[{"kind":"x","reserved_bytes":` + tib + `}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(1)
			s := b.sampler()
			if c.name != "no driver" && c.name != "no driver, no size" {
				b.tick(s) // the GPU has to be seen before it is lost
			}
			if c.driver != nil {
				c.driver(b)
			}
			a := b.says(t, 100, `{"uuid":"GPU-0",`+c.device+`}`)
			a.Hello.Evictable = []probe.Evictable{{Name: "kv"}}
			snap := b.judge(s)
			p := &snap.Rows[0]
			if p.Probe == nil || p.Probe.Rejected != c.want || p.Probe.State != snapshot.ProbeLive {
				t.Fatalf("the probe is %+v, want it rejected with %q", p.Probe, c.want)
			}
			if c.want != "" {
				checkUnknown(t, snap, p)
				if why := p.FlushRefusal("alice"); !strings.Contains(why, c.want) {
					t.Errorf("a flush is refused with %q", why)
				}
			} else if p.Allocators == nil {
				t.Error("what is possible is not shown")
			}
		})
	}
}

// step is one tick. used is the driver's figure, read at the tick. held is the probe's figure, read
// lag before the tick, or after the tick if lag is negative.
type step struct {
	used, held quantity.Bytes
	lag        time.Duration
	shown      quantity.Bytes // the expected allocated memory, or doubted or unknown
}

const doubted = unknown - 1

// A process that grows or shrinks between the driver's reading and the probe's keeps its figures. An
// impossible report is not shown.
func TestSkewedReportsAreShown(t *testing.T) {
	const early, late = 900 * time.Millisecond, -10 * time.Millisecond
	for name, steps := range map[string][]step{
		"grows, the driver shows it first":   {{4 * gib, 3 * gib, early, 3 * gib}, {9 * gib, 4 * gib, early, 4 * gib}, {14 * gib, 9 * gib, early, 9 * gib}},
		"grows, the probe shows it first":    {{4 * gib, 3 * gib, late, 3 * gib}, {9 * gib, 13 * gib, late, 3 * gib}, {14 * gib, 18 * gib, late, 13 * gib}, {19 * gib, 18 * gib, late, 18 * gib}},
		"grows from its first report on":     {{4 * gib, 9 * gib, late, doubted}, {10 * gib, 15 * gib, late, 9 * gib}, {16 * gib, 15 * gib, late, 15 * gib}},
		"shrinks, the driver shows it first": {{14 * gib, 13 * gib, early, 13 * gib}, {4 * gib, 13 * gib, early, 13 * gib}, {4 * gib, 3 * gib, early, 3 * gib}},
		"shrinks, the probe shows it first":  {{14 * gib, 13 * gib, late, 13 * gib}, {14 * gib, 3 * gib, late, 3 * gib}, {4 * gib, 3 * gib, late, 3 * gib}},
		"up and down":                        {{14 * gib, 13 * gib, early, 13 * gib}, {4 * gib, 13 * gib, early, 13 * gib}, {14 * gib, 3 * gib, early, 3 * gib}, {4 * gib, 13 * gib, early, 13 * gib}},
		"up and down between the readings": {{40 * gib, 13 * gib, early, 13 * gib}, {4 * gib, 60 * gib, early, 13 * gib}, {61 * gib, 20 * gib, early, 20 * gib},
			{4 * gib, 60 * gib, early, 60 * gib}, {14 * gib, 60 * gib, early, 60 * gib}, {14 * gib, 3 * gib, early, 3 * gib}},
		"lies at once": {{14 * gib, 60 * gib, late, doubted}, {14 * gib, 61 * gib, late, doubted}, {14 * gib, 60 * gib, early, doubted},
			{14 * gib, 60 * gib, early, doubted}, {14 * gib, 60 * gib, early, doubted}, {14 * gib, 60 * gib, early, unknown}},
		"lies from then on": {{14 * gib, 13 * gib, early, 13 * gib}, {14 * gib, 60 * gib, late, 13 * gib}, {14 * gib, 60 * gib, late, 13 * gib},
			{14 * gib, 60 * gib, late, 13 * gib}, {14 * gib, 60 * gib, late, 13 * gib}, {14 * gib, 60 * gib, late, 13 * gib}, {14 * gib, 60 * gib, late, unknown}, {14 * gib, 60 * gib, late, unknown}},
		"lies now and then": {{14 * gib, 13 * gib, early, 13 * gib}, {14 * gib, 60 * gib, late, 13 * gib}, {14 * gib, 12 * gib, late, 12 * gib},
			{14 * gib, 60 * gib, early, 12 * gib}, {14 * gib, 12 * gib, early, 12 * gib}},
		"its clock goes back": {{14 * gib, 13 * gib, late, 13 * gib}, {4 * gib, 3 * gib, 5 * time.Second, 3 * gib}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(1)
			s := b.sampler(noDeadline)
			b.use("GPU-0", steps[0].used)
			b.tick(s)
			for i, step := range steps {
				b.use("GPU-0", step.used)
				b.answer(100, "GPU-0", step.held, 0, 0, 0)
				b.answers[0].At = b.now.Add(time.Second - step.lag)
				p := &b.tick(s).Rows[0]
				v, known := p.Allocated.Value()
				if known != (step.shown >= 0) || known && v != step.shown || p.Probe.Doubted != (step.shown == doubted) || (p.Probe.Rejected != "") != (step.shown == unknown) {
					t.Errorf("step %d: allocated %v, %v, rejected %q; want %v", i, v, known, p.Probe.Rejected, step.shown)
				}
				if other, ok := p.Other.Value(); ok && -other > snapshot.Tolerance(step.used) {
					t.Errorf("step %d: other is %v", i, other)
				}
			}
		})
	}
}

// Between any two readings, a process takes and frees up to half of a GPU's memory.
func TestHonestReportsAreNotRejected(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, interval := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, time.Minute} {
		now, rejected, unsure := time.Now(), 0, 0
		r := &reports{}
		for range 10000 {
			now = now.Add(interval)
			held := quantity.Bytes(random.Int64N(int64(40 * gib)))
			newest := report{device: &probe.Device{}, at: now.Add(-min(interval, 1500*time.Millisecond) / 2), held: held}
			shown, why := r.take(now, newest, bound{limit: quantity.Bytes(random.Int64N(int64(40 * gib))), name: "driver", at: now}, 80*gib)
			if why != "" {
				rejected++
			} else if shown.device == nil {
				unsure++
			}
		}
		if rejected > 1 || unsure > 10 {
			t.Errorf("every %v: of 10000 reports %d are rejected, and %d not shown", interval, rejected, unsure)
		}
	}
}

// Returnable memory is at most used memory, even while the report is older than a drop that the driver shows.
func TestReturnableIsBoundedByUsed(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	b.use("GPU-0", 14*gib)
	b.answer(100, "GPU-0", gib, 12*gib, 0, 12*gib)
	if p := b.tick(s).Rows[0]; p.Returnable.Or(0) != 12*gib {
		t.Fatalf("returnable is %v", p.Returnable)
	}
	b.use("GPU-0", 5*gib)
	snap := b.tick(s)
	if p := snap.Rows[0]; p.Returnable.Or(0) != 5*gib || p.Cached.Or(0) != 12*gib || p.Frees() != 5*gib {
		t.Errorf("returnable %v, cached %v, a flush frees %v", p.Returnable, p.Cached, p.Frees())
	}
	if v := snap.GPUs[0].Parts.Returnable.Or(0); v > 5*gib {
		t.Errorf("of the GPU %v is returnable", v)
	}
	// Returnable memory is at most cached memory, too.
	b.use("GPU-0", 14*gib)
	b.answer(100, "GPU-0", 10*gib, 2*gib, 0, 3*gib)
	if p := b.tick(s).Rows[0]; p.Returnable.Or(0) != 2*gib || p.Unreturnable().Or(-1) != 0 {
		t.Errorf("returnable %v, unreturnable %v", p.Returnable, p.Unreturnable())
	}
}

// If the driver does not report the memory of processes, their probes together cannot report more than
// the GPU's used memory. The process that reported first keeps its figures.
func TestProcessesOfUnknownUseShareWhatIsLeft(t *testing.T) {
	b := newBox(1)
	r := b.readings["GPU-0"]
	r.Memory.Used = measured(40 * gib) // 10 of it by process 100
	b.readings["GPU-0"] = r
	s := b.sampler()
	claim := func(pid int, bytes string) {
		b.says(t, pid, `{"uuid":"GPU-0","allocators":[{"kind":"pytorch","reserved_bytes":`+bytes+`,"allocated_bytes":`+bytes+`}]}`)
	}
	claim(31, "21474836480") // 20 GiB
	b.tick(s)
	b.answers = nil
	claim(20, "16106127360") // 15 GiB, while 10 are left
	claim(31, "21474836480")
	snap := b.judge(s)
	rejected := map[int]string{}
	for i := range snap.Rows {
		if p := &snap.Rows[i]; p.Probe != nil {
			rejected[p.ID.Process.PID] = p.Probe.Rejected
		}
	}
	if rejected[31] != "" || rejected[20] != "reports 15.0G, the driver leaves 10.0G" {
		t.Errorf("the reasons are %v", rejected)
	}
	if got := snap.GPUs[0].Parts.Allocated.Or(0); got != 20*gib {
		t.Errorf("the GPU's processes have allocated %v", got)
	}
	b.answers = nil
	delete(b.processes, 31)
	claim(20, "16106127360")
	if snap = b.tick(s); snap.Rows[0].Probe == nil || snap.Rows[0].Probe.Rejected != "" {
		t.Errorf("once the other has gone: %+v", snap.Rows[0].Probe)
	}
}

func TestProbesThatDisagreeOnASizeLeaveItUnknown(t *testing.T) {
	b := newBox(0)
	b.report(31, "GPU-b", 80*gib)
	b.report(32, "GPU-b", quantity.PiB)
	s := b.sampler()
	if snap := b.tick(s); snap.GPUs[0].Memory.Total.Known() {
		t.Errorf("the size is %v", snap.GPUs[0].Memory.Total)
	}
	b.answers = b.answers[:1]
	if snap := b.tick(s); snap.GPUs[0].Memory.Total.Or(0) != 80*gib {
		t.Errorf("the size by one probe is %v", snap.GPUs[0].Memory.Total)
	}
}

// The sizes of caches are unknown if they add up to more than their process has allocated.
func TestSizesOfCachesAreBounded(t *testing.T) {
	for _, c := range []struct {
		size  quantity.Bytes
		known bool
	}{{gib / 4, true}, {gib, false}, {9 * gib, false}, {quantity.PiB, false}} {
		b := newBox(1)
		b.report(100, "GPU-0", 80*gib) // the process has allocated 1 GiB
		b.answers[0].Hello.Evictable = []probe.Evictable{{Name: "kv", Bytes: reported(c.size)}, {Name: "loader", Bytes: reported(gib / 8)}, {Name: "kv2", Bytes: reported(c.size)}}
		p := b.tick(b.sampler()).Rows[0]
		if len(p.Evictable) != 3 || p.Evictable[0].Bytes.Known() != c.known {
			t.Errorf("twice %v: the caches are %+v", c.size, p.Evictable)
		}
	}
}

// The sizes of caches are bounded even if another probe has just added a row that the driver does not list.
func TestCachesAreBoundInTheFirstTick(t *testing.T) {
	b := newBox(1)
	b.processes[99] = info(99, 900)
	b.answer(99, "GPU-0", gib, 0, 0, 0)
	other := b.answers[0]
	b.answer(100, "GPU-0", gib, gib, 0, gib)
	claim := 5 * quantity.GiB // more than the 1 GiB allocated, of 10 GiB used
	b.answers[0].Hello.Evictable = []probe.Evictable{{Name: "kv", Bytes: reported(claim)}}
	b.answers = append([]probe.Answer{other}, b.answers...)
	snap := b.tick(b.sampler())
	if len(snap.Rows) != 2 || len(snap.Rows[1].Evictable) != 1 || snap.Rows[1].Evictable[0].Bytes.Known() {
		t.Errorf("rows %+v, want caches of unknown size on the second of two", snap.Rows)
	}
}
