package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

const (
	gib      = quantity.GiB
	capacity = 80 * gib
	context  = gib / 2
)

var failedAt = time.Date(2026, 11, 21, 3, 12, 0, 0, time.UTC)

// story is a device with processes. Memory is a function of the seconds before the event; −1 means that
// there is no process or, for allocated memory, that it is unknown.
type story struct {
	from       time.Duration // of the history, before the event
	gap        time.Duration // the time without samples that ends 30 s before the event
	own        func(s float64) (reserved, allocated quantity.Bytes)
	steps      func(s float64) int64
	neighbours []func(s float64) quantity.Bytes
	hidden     bool    // the driver does not report what the neighbours use
	late       float64 // the seconds by which the probe's figures are older than the driver's
	failure    *snapshot.OutOfMemory
	events     []snapshot.Event
	mps        bool // the process is a client of MPS
	rare       bool // a sample every 10 s, the last one 5 s before the event
}

func id(n int) snapshot.RowID {
	return snapshot.RowID{Process: process.Identity{PID: n}, GPUUUID: "GPU-1"}
}

func (h *story) Span() (time.Time, time.Time) {
	return failedAt.Add(-h.from), failedAt.Add(time.Second)
}
func (h *story) Events(int) []snapshot.Event { return h.events }

func (h *story) used(n int, t time.Time) quantity.Bytes {
	s := failedAt.Sub(t).Seconds()
	if n > 0 {
		return h.neighbours[n-1](max(s, 0))
	}
	reserved, _ := h.own(max(s, 0))
	if reserved < 0 {
		return -1
	}
	return reserved + context
}

func (h *story) total(t time.Time) (sum quantity.Bytes) {
	for n := range len(h.neighbours) + 1 {
		sum += max(h.used(n, t), 0)
	}
	return sum
}

func (h *story) At(t time.Time) (*snapshot.Snapshot, bool) {
	oldest, newest := h.Span()
	if t.Before(oldest) {
		return nil, false
	}
	t = quantity.Earlier(t, newest)
	each := time.Second
	if h.rare {
		each = 10 * time.Second
		t = t.Add(-each / 2).Truncate(each).Add(each / 2)
	}
	snap := &snapshot.Snapshot{Time: t, Sequence: uint64(t.UnixNano()), Interval: each, GPUs: []snapshot.GPU{{
		UUID: "GPU-1", Name: "NVIDIA H100", Memory: snapshot.Memory{Total: computed(capacity), Used: computed(h.total(t))},
	}}}
	for n := range len(h.neighbours) + 1 {
		used := h.used(n, t)
		if used < 0 {
			continue
		}
		p := snapshot.Process{ID: id(n + 100), Name: "train.py", User: "alice", Used: computed(used)}
		if n > 0 {
			p.Name, p.User = "eval.py", "bob"
			if h.hidden {
				p.Used = snapshot.Bytes{}
			}
		} else {
			reserved, allocated := h.own(max(failedAt.Sub(t).Seconds(), 0) + h.late)
			if p.Type = "C"; h.mps {
				p.Type = "M+C"
			}
			p.Allocated, p.Cached, p.Fragmented = computed(allocated), computed(reserved-allocated), computed(0)
			if used == reserved+context { // otherwise the readings are of different moments, which the sampler does not subtract
				p.Other = computed(context)
			}
		}
		snap.Rows = append(snap.Rows, p)
	}
	return snap, true
}

func (h *story) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	oldest, newest := h.Span()
	points := make([]snapshot.Point, buckets)
	for i := range points {
		t := from.Add(to.Sub(from) * time.Duration(i+1) / time.Duration(buckets))
		points[i].Time = t
		if t.Before(oldest) || t.After(newest) || t.Before(failedAt.Add(-30*time.Second)) && t.After(failedAt.Add(-30*time.Second-h.gap)) {
			continue
		}
		v := int64(-1)
		s := max(failedAt.Sub(t).Seconds(), 0)
		switch {
		case key.Row == (snapshot.RowID{}):
			v = int64(h.total(t))
		case key.Metric == metric.Steps && key.Row == id(100) && h.steps != nil:
			v = h.steps(s)
		case key.Metric == metric.Used && (key.Row == id(100) || !h.hidden):
			v = int64(h.used(key.Row.Process.PID-100, t))
		case key.Metric == metric.Allocated && key.Row == id(100):
			_, allocated := h.own(s)
			v = int64(allocated)
		}
		points[i].Known, points[i].Min, points[i].Max, points[i].Last = v >= 0, v, v, v
		if before := t.Add(-to.Sub(from) / time.Duration(buckets) * 4 / 5); key.Metric == metric.Used && key.Row == id(100) && v >= 0 && !before.Before(oldest) {
			points[i].Max = max(v, int64(h.used(0, before)))
		}
	}
	return points
}

// asked makes a request for n fail in PyTorch's allocator, without freeing anything first.
func (h *story) asked(n quantity.Bytes) *story {
	reserved, allocated := h.own(0)
	h.failure = &snapshot.OutOfMemory{
		Requested: computed(n), Free: computed(capacity - h.total(failedAt)), Limit: computed(capacity), Allocator: "pytorch",
		Reserved: computed(reserved), Allocated: computed(allocated),
	}
	return h
}

func constant(v quantity.Bytes) func(float64) quantity.Bytes {
	return func(float64) quantity.Bytes { return v }
}

// jump is before until that many seconds before the event, and after from then on.
func jump(before, after quantity.Bytes, seconds float64) func(float64) quantity.Bytes {
	return func(s float64) quantity.Bytes {
		if s > seconds {
			return before
		}
		return after
	}
}

// full makes all reserved memory allocated.
func full(of func(float64) quantity.Bytes) func(float64) (quantity.Bytes, quantity.Bytes) {
	return func(s float64) (quantity.Bytes, quantity.Bytes) { v := of(s); return v, v }
}

// tooth rises and falls in each step of ten seconds.
func tooth(base, height quantity.Bytes) func(float64) quantity.Bytes {
	return func(s float64) quantity.Bytes { return base + height*quantity.Bytes(9-int(s)%10)/9 }
}

func neighbours(of ...func(float64) quantity.Bytes) []func(float64) quantity.Bytes { return of }

func withFailure(h *story, change func(f *snapshot.OutOfMemory)) *story {
	change(h.failure)
	return h
}

func TestStories(t *testing.T) {
	steps := func(s float64) int64 { return int64(3600 - s) }
	hour := time.Hour
	growing := func(rate float64, at quantity.Bytes) func(float64) quantity.Bytes {
		return func(s float64) quantity.Bytes { return at - quantity.Bytes(s*rate) }
	}
	loading := func(rate float64, at quantity.Bytes) func(float64) quantity.Bytes {
		return func(s float64) quantity.Bytes { return max(growing(rate, at)(s), gib) }
	}
	halves := func(reserved, allocated quantity.Bytes) func(float64) (quantity.Bytes, quantity.Bytes) {
		return func(float64) (quantity.Bytes, quantity.Bytes) { return reserved, allocated }
	}
	for _, c := range []struct {
		name  string
		story *story
		want  Cause
		by    int
	}{
		{"larger than the GPU", (&story{from: hour, own: full(constant(gib))}).asked(100 * gib), TooLarge, 0},
		{"larger than the GPU less its context", (&story{from: hour, own: full(constant(0))}).asked(capacity - gib/4), TooLarge, 0},
		{"larger, beside a neighbour", (&story{from: hour, own: full(constant(gib)), neighbours: neighbours(jump(0, 60*gib, 20))}).asked(90 * gib), TooLarge, 0},
		{"a fraction", withFailure((&story{from: hour, own: full(constant(19 * gib))}).asked(2*gib), func(f *snapshot.OutOfMemory) { f.Limit = computed(20 * gib) }), LimitSet, 0},
		{"a client of MPS at its limit", withFailure((&story{from: hour, own: full(constant(19 * gib)), neighbours: neighbours(constant(20 * gib))}).asked(2*gib), func(f *snapshot.OutOfMemory) {
			f.MPSLimit, f.Free = computed(20*gib), computed(gib/2)
		}), LimitSet, 0},
		{"a client of MPS below its limit", withFailure((&story{from: hour, own: full(jump(10*gib, 75*gib, 60))}).asked(8*gib), func(f *snapshot.OutOfMemory) { f.MPSLimit = computed(84 * gib) }), OwnGrowth, 0},
		{"a client of MPS on a full GPU", withFailure((&story{from: hour, own: full(jump(10*gib, 19*gib, 60)), neighbours: neighbours(jump(5*gib, 60*gib, 30))}).asked(2*gib), func(f *snapshot.OutOfMemory) {
			f.MPSLimit, f.Free = computed(20*gib), computed(gib/2)
		}), NeighbourTook, 101},
		{"a client of MPS at a limit that is not known", withFailure((&story{from: hour, own: full(jump(5*gib, 19*gib, 60)), neighbours: neighbours(constant(20 * gib)), mps: true}).asked(2*gib), func(f *snapshot.OutOfMemory) {
			f.Free = computed(gib / 2)
		}), LimitSet, 0},
		{"a client of MPS whose neighbour came since the last sample", (&story{
			from: hour, own: full(tooth(15*gib, 3*gib)), neighbours: neighbours(jump(5*gib, 59*gib, 2)), mps: true, rare: true,
		}).asked(8 * gib), NeighbourTook, 101},
		{"a limit that nothing reports", withFailure((&story{from: hour, own: full(jump(5*gib, 19*gib, 60)), neighbours: neighbours(constant(20 * gib))}).asked(2*gib), func(f *snapshot.OutOfMemory) {
			f.Free = computed(gib / 2)
		}), CannotTell, 0},
		{"loaded within the second before", (&story{from: hour, own: full(jump(5*gib, 78*gib, .5)), mps: true}).asked(8 * gib), OwnGrowth, 0},
		{"a fraction that changed nothing", withFailure((&story{from: hour, own: full(jump(10*gib, 75*gib, 60))}).asked(8*gib), func(f *snapshot.OutOfMemory) { f.Limit = computed(78 * gib) }), OwnGrowth, 0},
		{"fragments", (&story{from: hour, own: halves(78*gib, 30*gib)}).asked(20 * gib), Fragmentation, 0},
		{"few fragments", (&story{from: hour, own: func(s float64) (quantity.Bytes, quantity.Bytes) {
			v := jump(20*gib, 78*gib, 60)(s)
			return v, v - 3*gib
		}}).asked(2 * gib), OwnGrowth, 0},
		{"fragments beside a neighbour that grew", (&story{from: hour, own: halves(40*gib, 10*gib), neighbours: neighbours(jump(5*gib, 38*gib, 30))}).asked(20 * gib), Fragmentation, 0},
		{"a neighbour took it", (&story{from: hour, own: full(tooth(15*gib, 15*gib)), neighbours: neighbours(jump(10*gib, 47*gib, 25))}).asked(8 * gib), NeighbourTook, 101},
		{"a neighbour that has just started", (&story{from: hour, own: full(tooth(15*gib, 15*gib)), neighbours: neighbours(constant(4*gib), jump(-1, 40*gib, 8))}).asked(8 * gib), NeighbourTook, 102},
		{"a neighbour took it in the second in which the process freed it", (&story{from: hour, own: full(jump(30*gib, 20*gib, 5.5)), neighbours: neighbours(jump(10*gib, 58*gib, 5.4))}).asked(10 * gib), NeighbourTook, 101},
		{"a neighbour that grew hours ago", (&story{from: 5 * hour, own: full(jump(10*gib, 28*gib, 40)), neighbours: neighbours(jump(5*gib, 50*gib, 3*3600))}).asked(4 * gib), OwnGrowth, 0},
		{"a neighbour that was there just before", (&story{from: 20 * time.Second, own: full(func(s float64) quantity.Bytes {
			switch {
			case s > 6:
				return -1
			default:
				return 28*gib - quantity.Bytes(s)*4*gib
			}
		}), neighbours: neighbours(jump(-1, 50*gib, 12))}).asked(2 * gib), OwnGrowth, 0},
		{"an evaluation that had fitted, before a neighbour grew", (&story{from: 5 * hour, own: full(func(s float64) quantity.Bytes {
			if s > 3600 && s < 3700 {
				return 40 * gib
			}
			return 10 * gib
		}), neighbours: neighbours(jump(5*gib, 55*gib, 2000))}).asked(20 * gib), NeighbourTook, 101},
		{"two that race", (&story{from: 40 * time.Second, own: full(growing(float64(gib), 39*gib)), neighbours: neighbours(growing(float64(gib), 39*gib))}).asked(2 * gib), NeighbourTook, 101},
		{"two that race, faster than the probe is asked", (&story{from: 40 * time.Second, late: 2, own: full(loading(4*float64(gib), 39*gib)), neighbours: neighbours(loading(4*float64(gib), 39*gib))}).asked(2 * gib), NeighbourTook, 101},
		{"two that grew, one twice as much", (&story{from: hour, own: full(jump(10*gib, 40*gib, 30)), neighbours: neighbours(jump(5*gib, 22*gib, 30))}).asked(20 * gib), CannotTell, 0},
		{"a larger batch", (&story{from: hour, own: full(tooth(20*gib, 20*gib)), steps: steps}).asked(60 * gib), OwnGrowth, 0},
		{"a model too large beside a steady neighbour", (&story{from: hour, own: full(jump(-1, 45*gib, 20)), neighbours: neighbours(constant(30 * gib))}).asked(10 * gib), OwnGrowth, 0},
		{"a model that loads", (&story{from: 2 * time.Minute, own: full(growing(.6*float64(gib), 78*gib))}).asked(2 * gib), OwnGrowth, 0},
		{"a slow leak", (&story{from: hour, own: full(growing(float64(20*quantity.MiB), 79*gib)), steps: steps}).asked(gib), Leak, 0},
		{"a leak below a sawtooth", (&story{from: hour, own: func(s float64) (quantity.Bytes, quantity.Bytes) {
			v := growing(float64(15*quantity.MiB), 60*gib)(s) + tooth(0, 19*gib)(s)
			return v, v
		}, steps: steps}).asked(2 * gib), Leak, 0},
		{"a leak beside a neighbour that takes a little", (&story{from: hour, own: full(growing(float64(15*quantity.MiB), 66*gib)), steps: steps, neighbours: neighbours(jump(10*gib, 13*gib, 60))}).asked(gib), Leak, 0},
		{"a leak for hours without a count of steps", (&story{from: 3 * hour, own: full(growing(float64(7*quantity.MiB), 79*gib))}).asked(gib), Leak, 0},
		{"hidden neighbours", (&story{from: hour, hidden: true, own: full(tooth(15*gib, 15*gib)), neighbours: neighbours(jump(10*gib, 47*gib, 25))}).asked(8 * gib), NeighbourTook, 0},
		{"a neighbour that shrank", (&story{from: hour, own: full(jump(5*gib, 38*gib, 30)), neighbours: neighbours(jump(60*gib, 20*gib, 40))}).asked(30 * gib), OwnGrowth, 0},
		// Evidence is missing.
		{"no allocation seen", &story{from: hour, own: full(growing(float64(20*quantity.MiB), 79*gib)), steps: steps}, CannotTell, 0},
		{"free memory unknown, and enough before", withFailure((&story{from: hour, own: full(constant(10 * gib))}).asked(gib), func(f *snapshot.OutOfMemory) { f.Free = snapshot.Bytes{} }), CannotTell, 0},
		{"a history that begins with the event", (&story{from: time.Second, own: full(constant(30 * gib)), neighbours: neighbours(constant(48 * gib))}).asked(8 * gib), CannotTell, 0},
		{"a history that begins after both had grown", (&story{from: 30 * time.Second, own: full(constant(28 * gib)), neighbours: neighbours(constant(48 * gib))}).asked(8 * gib), CannotTell, 0},
		{"more free than asked for", withFailure((&story{from: hour, own: full(constant(10 * gib))}).asked(gib), func(f *snapshot.OutOfMemory) { f.Free = computed(2 * gib) }), CannotTell, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if total := c.story.total(failedAt); total > capacity {
				t.Fatalf("the story uses %s of %s", total, capacity)
			}
			e := Gather(c.story, &snapshot.Event{Time: failedAt, Kind: snapshot.EventOutOfMemory, GPUUUID: "GPU-1", Row: id(100), Name: "train.py", OutOfMemory: c.story.failure})
			v := Judge(e)
			if v.Cause != c.want {
				t.Fatalf("%s, want %s\n%q %q", v.Cause, c.want, v.Reasons, v.Missing)
			}
			by := 0
			if v.By != nil && v.By.Neighbour != nil {
				by = v.By.Neighbour.Process.ID.Process.PID
			}
			if by != c.by {
				t.Errorf("by PID %d, want %d: %q", by, c.by, v.Reasons)
			}
			if (len(v.Missing) > 0) != (v.Cause == CannotTell) || len(v.Reasons) == 0 && v.Cause != CannotTell {
				t.Errorf("reasons %q, missing %q", v.Reasons, v.Missing)
			}
			if strings.Contains(strings.Join(slices.Concat(v.Reasons, v.Missing), " "), "by -") {
				t.Errorf("grown by less than nothing: %q", v.Reasons)
			}
			for _, line := range Page(e, &v, 60) {
				if n := len([]rune(line.Text)); n > 60 {
					t.Errorf("a line of %d: %s", n, line.Text)
				}
			}
			if testing.Verbose() {
				for _, line := range Page(e, &v, 78) {
					t.Log(line.Text)
				}
			}
		})
	}
}
