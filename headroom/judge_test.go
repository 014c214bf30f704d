package headroom

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

const gib = quantity.GiB

func bytesOf(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Driver) }

// remembers is a history in which every row had the same peak in the oldest sample.
type remembers struct {
	snapshot.History
	peak quantity.Bytes // of allocated memory
}

var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func (r remembers) Span() (oldest, newest time.Time) { return began, began.Add(time.Hour) }

// Series implements snapshot.History. It has one point, at began.
func (r remembers) Series(_ snapshot.SeriesKey, from, _ time.Time, _ int) []snapshot.Point {
	if !from.Before(began) {
		return nil
	}
	return []snapshot.Point{{Max: int64(r.peak), Known: true}}
}

// grows predicts linear growth by the given bytes in 10 minutes, give or take a quarter.
func grows(snap *snapshot.Snapshot, by quantity.Bytes) {
	used := snap.GPUs[0].Memory.Used.Or(0)
	for _, h := range []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute, 15 * time.Minute} {
		change := by * quantity.Bytes(h/time.Second) / 600
		spread := max(change, -change) / 4
		snap.GPUs[0].Predicted = append(snap.GPUs[0].Predicted, snapshot.Prediction{
			Horizon: h, Median: used + change, Lower80: used + change - spread, Upper80: used + change + spread,
		})
	}
}

func TestJudgeForAWhile(t *testing.T) {
	for _, c := range []struct {
		name         string
		free, growth quantity.Bytes // growth in 10 minutes
		peak         quantity.Bytes // of allocated memory; the process has 5 GiB allocated now, and 10 cached
		length       time.Duration
		want         Verdict
		low          LowPoint
	}{
		{"nothing moves", 30 * gib, 0, 0, 10 * time.Minute, Yes, LowPoint{30 * gib, 30 * gib, 30 * gib}},
		{"it grows", 30 * gib, 8 * gib, 0, 10 * time.Minute, Yes, LowPoint{22 * gib, 20 * gib, 24 * gib}},
		{"it grows, and half of the way is asked for", 30 * gib, 16 * gib, 0, 5 * time.Minute, Yes, LowPoint{22 * gib, 20 * gib, 24 * gib}},
		{"the median would do, the interval does not", 29 * gib, 8 * gib, 0, 10 * time.Minute, AfterFlush, LowPoint{21 * gib, 19 * gib, 23 * gib}},
		{"what is freed is taken again", 29 * gib, 8 * gib, 15 * gib, 10 * time.Minute, No, LowPoint{21 * gib, 19 * gib, 23 * gib}},
		{"half of what is freed is taken again", 26 * gib, 8 * gib, 10 * gib, 10 * time.Minute, AfterFlush, LowPoint{18 * gib, 16 * gib, 20 * gib}},
		{"it is full before", 30 * gib, 40 * gib, 0, 10 * time.Minute, No, LowPoint{-10 * gib, -20 * gib, 0}},
		{"a flush would go into what grows", 30 * gib, 20 * gib, 0, 10 * time.Minute, No, LowPoint{10 * gib, 5 * gib, 15 * gib}},
		{"it shrinks: the low point is now", 15 * gib, -8 * gib, 15 * gib, 10 * time.Minute, No, LowPoint{15 * gib, 15 * gib, 15 * gib}},
	} {
		snap := snapshottest.Room(c.free, 10*gib)
		grows(snap, c.growth)
		snap.Rows[0].Demand = snapshot.Demand{Ever: max(c.peak-5*gib, 0), Known: true}
		snap.Rows[0].Demand.Within[2].Upper = snap.Rows[0].Demand.Ever
		r := Judge(snap, remembers{}, Question{Need: 20 * gib, Count: 1, Length: c.length, Watched: time.Minute})
		h := &r.Places[0]
		near := func(a, b quantity.Bytes) bool { return max(a-b, b-a) <= quantity.KiB } // the interpolation uses floats
		if h.Low == nil || !near(h.Low.Median, c.low.Median) || !near(h.Low.Lower, c.low.Lower) || !near(h.Low.Upper, c.low.Upper) || r.Answer != c.want {
			t.Errorf("%s: %s, low %+v; want %s, %+v", c.name, r.Answer, h.Low, c.want, c.low)
		}
	}
	// The probe reports only the trough of each step, but the allocator counts the peaks.
	snap := snapshottest.Room(29*gib, 10*gib)
	grows(snap, 8*gib)
	snap.Rows[0].Allocators = []snapshot.Allocator{{Kind: "pytorch", PeakAllocated: bytesOf(15 * gib)}}
	question := Question{Need: 20 * gib, Count: 1, Length: 10 * time.Minute, Watched: time.Minute}
	if r := Judge(snap, remembers{}, question); r.Answer != No || r.Places[0].Staying.Or(-1) != 0 {
		t.Errorf("peaks between samples: %s, %s of a flush stays free", r.Answer, r.Places[0].Staying.Or(-1))
	}
	if question.Length = 0; Judge(snap, remembers{}, question).Answer != Yes {
		t.Error("peaks of later count now")
	}
	// Without a forecast the answer is unknown.
	r := Judge(snapshottest.Room(70*gib, 0), remembers{}, Question{Need: gib, Count: 1, Length: time.Minute, Watched: time.Minute})
	if r.Answer != Unknown || !strings.Contains(r.Places[0].Reason, "not predicted") {
		t.Errorf("without a forecast: %s, %q", r.Answer, r.Places[0].Reason)
	}
}

// The low point is on straight lines between the horizons, and within length.
func TestLowPointOfACurve(t *testing.T) {
	at := func(horizon time.Duration, median quantity.Bytes) snapshot.Prediction {
		return snapshot.Prediction{Horizon: horizon, Median: median, Lower80: median - 1, Upper80: median + 2}
	}
	predicted := []snapshot.Prediction{at(10*time.Second, 100), at(time.Minute, 40), at(3*time.Minute, 80)}
	for length, want := range map[time.Duration]*LowPoint{
		5 * time.Second:  {Median: 460, Lower: 459, Upper: 461}, // half-way from 60
		10 * time.Second: {Median: 440, Lower: 438, Upper: 441},
		time.Minute:      {Median: 440, Lower: 438, Upper: 441}, // the low point is at 10 s
		3 * time.Minute:  {Median: 440, Lower: 438, Upper: 441},
		4 * time.Minute:  nil,
	} {
		got := lowest(480, 60, predicted, length)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%v: %+v, want %+v", length, got, want)
		}
	}
}

// Unknown returnable memory is not zero.
func TestUnknownReturnable(t *testing.T) {
	pool := snapshot.Allocator{Kind: "cuda_pool", Basis: "post_flush", Reserved: bytesOf(5 * gib), Allocated: bytesOf(5 * gib), Cached: bytesOf(0)}
	judge := func(snap *snapshot.Snapshot) *Place {
		r := Judge(snap, remembers{}, Question{Need: 20 * gib, Count: 1})
		return &r.Places[0]
	}
	snap := snapshottest.Room(gib, 0)
	snap.Rows[0].Returnable = snapshot.Bytes{}
	snap.Rows[0].Allocators = []snapshot.Allocator{pool}
	if p := judge(snap); p.Returnable.Known() || p.Staying.Known() || p.Exact {
		t.Errorf("of a pool alone: %+v, %+v, exact %v", p.Returnable, p.Staying, p.Exact)
	}
	other := snapshottest.Room(gib, 4*gib).Rows[0]
	other.ID.Process.PID = 101
	snap.Rows = append(snap.Rows, other)
	if p := judge(snap); p.Returnable.Or(0) != 4*gib || p.Exact {
		t.Errorf("of another process, too: %+v, exact %v", p.Returnable, p.Exact)
	}
	snap.Rows = snap.Rows[1:]
	if p := judge(snap); p.Returnable.Or(0) != 4*gib || !p.Exact {
		t.Errorf("of the other one alone: %+v, exact %v", p.Returnable, p.Exact)
	}
	if p := judge(snapshottest.Room(gib, 0)); p.Returnable != quantity.From[quantity.Bytes](0, quantity.Computed) || !p.Exact {
		t.Errorf("of a process that caches nothing: %+v, exact %v", p.Returnable, p.Exact)
	}
}

// On a simulated box free memory seldom falls below the lower end of the predicted low point.
func TestLowPointComesTrue(t *testing.T) {
	const watch, length = 5 * time.Minute, 3 * time.Minute
	held, asked := 0, 0
	for seed := range uint64(6) {
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		box := simulator.New(simulator.Options{Seed: seed, Clock: clock, Prelude: watch})
		sampling := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})
		tick := func() *snapshot.Snapshot {
			now = now.Add(time.Second)
			return sampling.Tick(now)
		}
		for range watch / time.Second {
			tick()
		}
		report := Judge(sampling.Latest(), sampling.History(), Question{Need: gib, Count: 1, Length: length, Watched: watch})
		least := map[string]quantity.Bytes{}
		for range length / time.Second {
			then := Judge(tick(), sampling.History(), Question{Need: gib, Count: 1})
			for i := range then.Places {
				h := &then.Places[i]
				free, known := h.Free.Value()
				if had, seen := least[h.UUID()]; known && (!seen || free < had) {
					least[h.UUID()] = free
				}
			}
		}
		for i := range report.Places {
			h := &report.Places[i]
			if h.Low == nil || h.GPU.Index == 6 {
				continue // GPU 6 is lost meanwhile
			}
			asked++
			if h.Low.Shown().Lower <= least[h.UUID()]+64*quantity.MiB {
				held++
			}
			t.Logf("seed %d, GPU %s: free %v, low point %v–%v–%v, came to %v", seed, h.Label, h.Free.Or(0), h.Low.Lower, h.Low.Median, h.Low.Upper, least[h.UUID()])
			if off := h.Low.Shown().Median - least[h.UUID()]; h.Label == "3" && (off > gib || off < -gib || h.Low.Median > h.Free.Or(0)-3*gib) {
				t.Errorf("seed %d: of the leak %+v was said, and it came to %v", seed, h.Low, least[h.UUID()])
			}
		}
	}
	if asked < 40 || held < asked*85/100 { // the lower end of an 80 % interval should hold for nine of ten
		t.Errorf("%d of %d promises were kept", held, asked)
	}
}

// TestMIGInstances: an instance counts only its own processes.
func TestMIGInstances(t *testing.T) {
	snap := snapshottest.Room(0, 0)
	g := &snap.GPUs[0]
	g.MIG = true
	for i, free := range []quantity.Bytes{gib, 15 * gib} {
		g.Instances = append(g.Instances, snapshot.Instance{
			ID: snapshot.InstanceID{GPU: uint32(7 + i)}, UUID: "MIG-" + strconv.Itoa(i),
			Memory: snapshot.Memory{Total: bytesOf(20 * gib), Used: bytesOf(20*gib - free), Free: bytesOf(free)},
		})
		g.Instances[i].FullIn = &snapshot.FullIn{}
		row := snapshottest.Room(0, 5*gib).Rows[0]
		row.ID.Process.PID, row.ID.Instance = 100+i, g.Instances[i].ID
		snap.Rows = append(snap.Rows[:i], row)
	}
	r := Judge(snap, remembers{}, Question{Need: 20 * gib, Count: 1})
	for i, want := range []struct {
		label   string
		verdict Verdict
		why     string
	}{
		{"0:1", No, "19.0G short, also after a flush of 100 (bob, 5.00G)"},
		{"0:2", AfterFlush, "flush 101 (bob, 5.00G)"},
	} {
		p := &r.Places[i]
		if p.Label != want.label || p.Verdict != want.verdict || p.Why() != want.why || p.UUID() != g.Instances[i].UUID || p.FullIn() != g.Instances[i].FullIn {
			t.Errorf("%s, %s: %s, %s; want %+v", p.Label, p.UUID(), p.Verdict, p.Why(), want)
		}
	}
}

// TestFlushableHasSomethingToFree: caches that are empty or of unknown size, or of a process on two GPUs,
// do not make a process flushable.
func TestFlushableHasSomethingToFree(t *testing.T) {
	for name, c := range map[string]struct {
		size   snapshot.Bytes
		others int // other GPUs that the process is on
		want   snapshot.Bytes
		listed bool
	}{
		"caches":              {bytesOf(gib), 0, bytesOf(gib), true},
		"empty caches":        {bytesOf(0), 0, snapshot.Bytes{}, false},
		"of unknown size":     {snapshot.Bytes{}, 0, snapshot.Bytes{}, false},
		"on another GPU, too": {bytesOf(gib), 1, snapshot.Bytes{}, false},
	} {
		snap := snapshottest.Room(gib, 0)
		snap.Rows[0].Evictable = []snapshot.Evictable{{Name: "kv", Bytes: c.size}}
		for range c.others {
			row := snap.Rows[0]
			row.ID.GPUUUID = "GPU-1"
			snap.Rows = append(snap.Rows, row)
		}
		r := Judge(snap, remembers{}, Question{Need: 20 * gib, Count: 1})
		p := &r.Places[0]
		if listed := len(p.Flushable) == 1; listed != c.listed || listed && p.Flushable[0].Claimed.Or(0) != c.want.Or(0) {
			t.Errorf("%s: %+v", name, p.Flushable)
		}
	}
}

func TestParseNeed(t *testing.T) {
	for in, want := range map[string]Question{
		"20G": {Need: 20 * gib, Count: 1}, " 1x20GiB ": {Need: 20 * gib, Count: 1}, "2X40G": {Need: 40 * gib, Count: 2},
	} {
		if got, ok := ParseNeed(in); !ok || got != want {
			t.Errorf("%q: %+v, %t", in, got, ok)
		}
	}
	for _, in := range []string{"", "20", "0x20G", "-1x20G", "x20G", "2x", "1.5x20G", "much"} {
		if got, ok := ParseNeed(in); ok {
			t.Errorf("%q: %+v", in, got)
		}
	}
}
