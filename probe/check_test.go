package probe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestCheckForgetsImpossibleHolders: the out-of-memory error itself is kept.
func TestCheckForgetsImpossibleHolders(t *testing.T) {
	long, all := strings.Repeat("a", 2*maxText), quantity.GiB
	for name, c := range map[string]struct {
		held []Holder
		want int
	}{
		"all of it":        {[]Holder{{Class: "variables", Name: long, Bytes: quantity.GiB - 1}, {Class: "buffers", Bytes: 1}}, 2},
		"more than all":    {[]Holder{{Class: "variables", Bytes: quantity.GiB}, {Class: "buffers", Bytes: 1}}, 0},
		"no class":         {[]Holder{{Class: "secrets", Bytes: 1}}, 0},
		"less than none":   {[]Holder{{Class: "buffers", Bytes: -1}}, 0},
		"very many":        {make([]Holder, 99), 0},
		"very many, known": {slices.Repeat([]Holder{{Class: "variables", Bytes: 1}}, 99), maxHeld},
	} {
		d := Device{OutOfMemory: []FailedAllocation{{TimeNS: 1, Allocated: reported(all), Held: c.held, Stack: slices.Repeat([]string{long}, 99)}}}
		if err := d.checkFailed(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f := d.OutOfMemory[0]
		if len(f.Held) != c.want || len(f.Stack) != maxStack || len(f.Stack[0]) > maxText || c.want > 0 && len(f.Held[0].Name) > maxText {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestCheckCutsTextsAndLists(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	a := Allocator{Kind: "raw", Config: long}
	for range 100 {
		a.Pools = append(a.Pools, Pool{Name: long})
		a.Largest = append(a.Largest, Allocation{Bytes: quantity.MiB, API: long, Library: long})
	}
	if err := checkAllocator(&a); err != nil {
		t.Fatal(err)
	}
	if len(a.Pools) != maxPools || len(a.Largest) != maxLargest {
		t.Errorf("%d pools and %d allocations remain", len(a.Pools), len(a.Largest))
	}
	for _, text := range []string{a.Config, a.Pools[7].Name, a.Largest[7].API, a.Largest[7].Library} {
		if text != strings.Repeat("ä", maxText/2) {
			t.Errorf("cut to %q", text)
		}
	}
	h := Hello{Proto: Version, PID: 1, StartTime: 2, StartedBy: long}
	if err := h.check(1, 2); err != nil || len(h.StartedBy) > maxText {
		t.Errorf("started by %d bytes, %v", len(h.StartedBy), err)
	}
}

func TestCheckDropsImpossibleCacheSize(t *testing.T) {
	h := Hello{Proto: Version, PID: 1, StartTime: 2, Evictable: []Evictable{{Bytes: reported[quantity.Bytes](-1)}, {Bytes: reported(maxBytes)}, {Bytes: reported(maxBytes + 1)}, {}}}
	if err := h.check(1, 2); err != nil {
		t.Fatal(err)
	}
	for i, kept := range []bool{false, true, false, false} {
		if got := h.Evictable[i].Bytes; got.Known() != kept {
			t.Errorf("cache %d: size %v, want it kept: %v", i, got, kept)
		}
	}
}

func TestResultsAreChecked(t *testing.T) {
	notes := make([]string, 100)
	flush, snapshot := FlushResult{Notes: notes}, SnapshotResult{Notes: notes}
	if err := flush.check(); err != nil || len(flush.Notes) != maxNotes {
		t.Errorf("a flush with %d notes, %v", len(flush.Notes), err)
	}
	if err := snapshot.check(1); err != nil || len(snapshot.Notes) != maxNotes {
		t.Errorf("a snapshot with %d notes, %v", len(snapshot.Notes), err)
	}
	for _, ms := range []float64{0, 1e9} {
		if err := checkDuration(ms); err != nil {
			t.Errorf("%g ms: %v", ms, err)
		}
	}
	for _, ms := range []float64{-1, 1e10} {
		flush.Milliseconds, snapshot.Milliseconds = ms, ms
		if flush.check() == nil || snapshot.check(1) == nil {
			t.Errorf("%g ms is accepted", ms)
		}
	}
}

func TestCheckTime(t *testing.T) {
	start, err := ownStart()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, c := range []struct {
		off  time.Duration
		want string
	}{
		{0, ""}, {-9 * time.Second, ""}, {9 * time.Second, ""}, {11 * time.Second, "11s in the future"}, {1 << 62, "in the future"},
		{-24 * time.Hour, "before the process started"}, {-1 << 60, "before the process started"},
	} {
		err := checkTime(now, now.UnixNano()+int64(c.off), start)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.off, err, c.want)
		}
	}
	for ahead, ok := range map[time.Duration]bool{clockSlack: true, clockSlack + 1: false} {
		failed := []Device{{OutOfMemory: []FailedAllocation{{TimeNS: now.UnixNano() + int64(ahead)}}}}
		if err := (&Report{TimeNS: now.UnixNano(), Devices: failed}).checkTimes(now, start); (err == nil) != ok {
			t.Errorf("an allocation that failed in %v: %v", ahead, err)
		}
		if err := checkTime(now, now.UnixNano()+int64(ahead), start); (err == nil) != ok {
			t.Errorf("a reading in %v: %v", ahead, err)
		}
	}
	if err := checkTime(now, 1, start); err == nil {
		t.Error("1970 passes")
	}
	if err := checkTime(now, math.MaxInt64, start); err == nil {
		t.Error("the year 2262 passes")
	}
}

// TestHelloIsOfItsProcess: each mismatch has an error of its own.
func TestHelloIsOfItsProcess(t *testing.T) {
	for want, change := range map[string]func(*Hello){
		"":                                       func(*Hello) {},
		"the probe speaks \"2.0\"":               func(h *Hello) { h.Proto = "2.0" },
		"the probe speaks \"\"":                  func(h *Hello) { h.Proto = "" },
		"reports PID 6 in its namespace, but is": func(h *Hello) { h.PID = 6 },
		"reports start time 8, but has 7":        func(h *Hello) { h.StartTime = 8 },
	} {
		h := Hello{Proto: Version, PID: 5, StartTime: 7}
		change(&h)
		if err := h.check(5, 7); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, by := range []string{"run", "import", "attach", "preload"} {
		h := Hello{Proto: Version, StartedBy: by}
		if err := h.check(0, 0); err != nil || h.StartedBy != by {
			t.Errorf("started by %s: %q, %v", by, h.StartedBy, err)
		}
	}
	h := Hello{Proto: Version, StartedBy: "magic"}
	for range 100 {
		h.Runtimes = append(h.Runtimes, Runtime{Name: strings.Repeat("n", maxText+1), Version: strings.Repeat("v", maxText+1)})
		h.Capabilities = append(h.Capabilities, strings.Repeat("c", maxText+1))
		h.Evictable = append(h.Evictable, Evictable{Name: strings.Repeat("e", maxText+1)})
	}
	if err := h.check(0, 0); err != nil || h.StartedBy != "" {
		t.Errorf("started by %q, %v", h.StartedBy, err)
	}
	if len(h.Runtimes) != maxRuntimes || len(h.Capabilities) != maxCapabilities || len(h.Evictable) != maxEvictable {
		t.Errorf("%d runtimes, %d capabilities, %d caches", len(h.Runtimes), len(h.Capabilities), len(h.Evictable))
	}
	for i, text := range []string{h.Runtimes[15].Name, h.Runtimes[15].Version, h.Capabilities[31], h.Evictable[31].Name} {
		if len(text) != maxText {
			t.Errorf("text %d has %d bytes", i, len(text))
		}
	}
}

// TestReportChecks tests the limits of a report's figures. One figure beyond its limit invalidates
// the report.
func TestReportChecks(t *testing.T) {
	size, count, age := reported[quantity.Bytes], reported[int64], reported[float64]
	many := func(n int) (all []Allocator) {
		for range n {
			all = append(all, Allocator{Kind: "raw"})
		}
		return all
	}
	type cases map[string]func(*Report, *Device, *Allocator)
	for want, c := range map[string]cases{
		"": {
			"nothing":            func(*Report, *Device, *Allocator) {},
			"all devices":        func(r *Report, _ *Device, _ *Allocator) { r.Devices = someDevices(maxDevices, 0) },
			"all allocators":     func(_ *Report, d *Device, _ *Allocator) { d.Allocators = many(maxAllocators) },
			"all of all devices": func(r *Report, _ *Device, _ *Allocator) { r.Devices = someDevices(8, maxReported/8) },
			"a MIG instance":     func(_ *Report, d *Device, _ *Allocator) { d.UUID = "MIG-GPU-0aAzZ9/1/2" },
			"the longest UUID":   func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-" + strings.Repeat("a", maxUUID-4) },
			"most bytes": func(_ *Report, d *Device, a *Allocator) {
				d.Total, a.Reserved = size(maxBytes), size(maxBytes)
			},
			"no bytes":             func(_ *Report, d *Device, a *Allocator) { d.Total, a.Reserved = size(0), size(0) },
			"most steps":           func(r *Report, _ *Device, _ *Allocator) { r.Steps = count(maxCount) },
			"no steps":             func(r *Report, _ *Device, _ *Allocator) { r.Steps = count(0) },
			"the longest kind":     func(_ *Report, _ *Device, a *Allocator) { a.Kind = strings.Repeat("k", maxText) },
			"parts that are equal": func(_ *Report, _ *Device, a *Allocator) { setParts(a, 6, 1, 2, 3) },
			"a part is unknown":    func(_ *Report, _ *Device, a *Allocator) { setParts(a, 6, 1, 2, 0); a.Fragmented = snapshot.Bytes{} },
			"parts alone":          func(_ *Report, _ *Device, a *Allocator) { setParts(a, 0, 1, 2, 3); a.Reserved = snapshot.Bytes{} },
			"a part is all":        func(_ *Report, _ *Device, a *Allocator) { setParts(a, 6, 6, 0, 0); a.Returnable = size(6) },
			"oldest allocation":    func(_ *Report, _ *Device, a *Allocator) { a.Largest = []Allocation{{AgeSeconds: age(maxAge)}} },
			"newest allocation":    func(_ *Report, _ *Device, a *Allocator) { a.Largest = []Allocation{{AgeSeconds: age(0)}} },
			"a pool": func(_ *Report, _ *Device, a *Allocator) {
				a.Pools = []Pool{{Reserved: size(maxBytes), Segments: count(0)}}
			},
			"two handles": func(_ *Report, d *Device, _ *Allocator) {
				d.Allocators = []Allocator{{Kind: "a", Handle: 1}, {Kind: "b", Handle: 2}}
			},
			"allocators of no name": func(_ *Report, d *Device, _ *Allocator) { d.Allocators = []Allocator{{Kind: "a"}, {Kind: "b"}} },
			"an early failure":      func(_ *Report, d *Device, _ *Allocator) { d.OutOfMemory = []FailedAllocation{{TimeNS: 1}} },
			"rescues":               func(_ *Report, d *Device, _ *Allocator) { d.Rescues = rescues(1, 1, 1, 0, 0) },
			"no rescue succeeded":   func(_ *Report, d *Device, _ *Allocator) { d.Rescues = rescues(1, 0, 1, 0, 0) },
		},
		"65 devices":                      {"": func(r *Report, _ *Device, _ *Allocator) { r.Devices = someDevices(maxDevices+1, 0) }},
		"time_ns is 0":                    {"": func(r *Report, _ *Device, _ *Allocator) { r.TimeNS = 0 }},
		"more than 512 allocators":        {"": func(r *Report, _ *Device, _ *Allocator) { r.Devices = someDevices(9, 57) }},
		"65 allocators":                   {"": func(_ *Report, d *Device, _ *Allocator) { d.Allocators = many(maxAllocators + 1) }},
		"is listed twice":                 {"": func(r *Report, d *Device, _ *Allocator) { r.Devices = append(r.Devices, *d) }},
		"total_bytes is -1":               {"": func(_ *Report, d *Device, _ *Allocator) { d.Total = size(-1) }},
		"total_bytes is 1125899906842625": {"": func(_ *Report, d *Device, _ *Allocator) { d.Total = size(maxBytes + 1) }},
		"its allocators sum to": {"": func(_ *Report, d *Device, _ *Allocator) {
			d.Allocators = []Allocator{{Kind: "a", Reserved: size(maxBytes)}, {Kind: "b", Allocated: size(1)}}
		}},
		"have the same handle": {"": func(_ *Report, d *Device, _ *Allocator) {
			d.Allocators = []Allocator{{Kind: "a", Handle: 1}, {Kind: "b"}, {Kind: "c", Handle: 1}}
		}},
		"is not a UUID in NVML's form": {
			"none":         func(_ *Report, d *Device, _ *Allocator) { d.UUID = "" },
			"a prefix":     func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-" },
			"another":      func(_ *Report, d *Device, _ *Allocator) { d.UUID = "CPU-1" },
			"too long":     func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-" + strings.Repeat("a", maxUUID-3) },
			"below digits": func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-1." },
			"above digits": func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-1:" },
			"below A":      func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-1@" },
			"above Z":      func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-1[" },
			"below a":      func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-1`" },
			"above z":      func(_ *Report, d *Device, _ *Allocator) { d.UUID = "GPU-1{" },
		},
		"steps is -1":                            {"": func(r *Report, _ *Device, _ *Allocator) { r.Steps = count(-1) }},
		"steps is 9007199254740993":              {"": func(r *Report, _ *Device, _ *Allocator) { r.Steps = count(maxCount + 1) }},
		"its kind is empty or too long":          {"empty": func(_ *Report, _ *Device, a *Allocator) { a.Kind = "" }, "long": func(_ *Report, _ *Device, a *Allocator) { a.Kind = strings.Repeat("k", maxText+1) }},
		"reserved_bytes is -1":                   {"": func(_ *Report, _ *Device, a *Allocator) { a.Reserved = size(-1) }},
		"cached_bytes is -2":                     {"": func(_ *Report, _ *Device, a *Allocator) { a.Cached = size(-2) }},
		"returnable_bytes is 7, more than":       {"": func(_ *Report, _ *Device, a *Allocator) { setParts(a, 6, 1, 2, 3); a.Returnable = size(7) }},
		"sum to 7, reserved_bytes is 6":          {"known": func(_ *Report, _ *Device, a *Allocator) { setParts(a, 6, 1, 2, 4) }, "unknown": func(_ *Report, _ *Device, a *Allocator) { setParts(a, 6, 3, 4, 0); a.Fragmented = snapshot.Bytes{} }},
		"sum to 5, reserved_bytes is 6":          {"": func(_ *Report, _ *Device, a *Allocator) { setParts(a, 6, 1, 2, 2) }},
		"blocks is -1":                           {"": func(_ *Report, _ *Device, a *Allocator) { a.Blocks = count(-1) }},
		"a peak is -1 bytes":                     {"": func(_ *Report, _ *Device, a *Allocator) { a.PeakReserved = size(-1) }},
		"asleep_bytes is -1":                     {"": func(_ *Report, _ *Device, a *Allocator) { a.Asleep = size(-1) }},
		"managed_bytes is -1":                    {"": func(_ *Report, _ *Device, a *Allocator) { a.Managed = size(-1) }},
		"has a figure of -1 bytes":               {"pool": func(_ *Report, _ *Device, a *Allocator) { a.Pools = []Pool{{Allocated: size(-1)}} }, "failed": func(_ *Report, d *Device, _ *Allocator) { d.OutOfMemory = []FailedAllocation{{TimeNS: 1, Bytes: -1}} }},
		"has -1 segments":                        {"": func(_ *Report, _ *Device, a *Allocator) { a.Pools = []Pool{{Segments: count(-1)}} }},
		"an allocation is -1 bytes":              {"": func(_ *Report, _ *Device, a *Allocator) { a.Largest = []Allocation{{Bytes: -1}} }},
		"an allocation is -1 s old":              {"": func(_ *Report, _ *Device, a *Allocator) { a.Largest = []Allocation{{AgeSeconds: age(-1)}} }},
		"an allocation is 1.000000001e+09 s old": {"": func(_ *Report, _ *Device, a *Allocator) { a.Largest = []Allocation{{AgeSeconds: age(maxAge + 1)}} }},
		"an allocation failed at 0":              {"": func(_ *Report, d *Device, _ *Allocator) { d.OutOfMemory = []FailedAllocation{{}} }},
		"impossible rescues": {
			"fewer than none":       func(_ *Report, d *Device, _ *Allocator) { d.Rescues = rescues(1, -1, 1, 0, 0) },
			"more than asked":       func(_ *Report, d *Device, _ *Allocator) { d.Rescues = rescues(1, 2, 1, 0, 0) },
			"never":                 func(_ *Report, d *Device, _ *Allocator) { d.Rescues = rescues(1, 1, 0, 0, 0) },
			"of less than nothing":  func(_ *Report, d *Device, _ *Allocator) { d.Rescues = rescues(1, 1, 1, -1, 0) },
			"waited less than that": func(_ *Report, d *Device, _ *Allocator) { d.Rescues = rescues(1, 1, 1, 0, -1) },
		},
	} {
		for name, change := range c {
			r := Report{TimeNS: 1, Devices: someDevices(1, 1)}
			change(&r, &r.Devices[0], &r.Devices[0].Allocators[0])
			if err := r.check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

func reported[T any](figure T) quantity.Optional[T] { return quantity.From(figure, quantity.Probe) }

// someDevices returns n devices, each with the given number of allocators.
func someDevices(n, allocators int) (all []Device) {
	for i := range n {
		d := Device{UUID: fmt.Sprintf("GPU-%d", i)}
		for range allocators {
			d.Allocators = append(d.Allocators, Allocator{Kind: "raw"})
		}
		all = append(all, d)
	}
	return all
}

func setParts(a *Allocator, reserved, allocated, cached, fragmented quantity.Bytes) {
	a.Reserved, a.Allocated, a.Cached, a.Fragmented = reported(reserved), reported(allocated), reported(cached), reported(fragmented)
}

func rescues(asked, succeeded, ns int64, bytes quantity.Bytes, waited int64) *Rescues {
	r := &Rescues{Asked: asked, Succeeded: succeeded}
	r.Last.TimeNS, r.Last.Bytes, r.Last.WaitedMS = ns, bytes, waited
	return r
}

// DecodeReport reads a line of stats as a monitor does.
func DecodeReport(line []byte) (Report, error) {
	var answer statsLine
	if err := decode(line, &answer); err != nil {
		return Report{}, err
	}
	return answer.Report, answer.check()
}
