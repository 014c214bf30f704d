package recording

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestPartsOfAMinuteAddUp: the parts add up even if a probe reports, or the GPU answers, for only a part
// of the minute.
func TestPartsOfAMinuteAddUp(t *testing.T) {
	type figure = quantity.Optional[int64]
	known := func(v int64) figure { return quantity.From(v, quantity.Computed) }
	none := figure{}
	idle := []figure{known(100), none, known(100), known(0)} // used, cached, unknown, utilization
	probed := []figure{known(100), known(60), known(40), known(50)}
	lost := []figure{none, known(60), none, none}
	for name, c := range map[string]struct {
		ticks   [][]figure
		covered int64 // s
		cached  float64
	}{
		"no probe at first": {[][]figure{idle, idle, idle, probed}, 4, 15},
		"lost at the end":   {[][]figure{probed, probed, lost, lost, lost}, 2, 60},
		"lost at first":     {[][]figure{lost, lost, lost, idle, probed}, 2, 30},
		"always lost":       {[][]figure{lost, lost}, 2, 60},
	} {
		var w window
		sums := make([]sum, 4)
		for _, tick := range c.ticks {
			w.measure(sums, time.Second, tick)
		}
		if w.covered != c.covered*int64(time.Second) {
			t.Errorf("%s: %v are covered, want %d s", name, time.Duration(w.covered), c.covered)
		}
		of := func(s *sum) float64 { return s.area / float64(w.covered) }
		if got := of(&sums[1]); got != c.cached {
			t.Errorf("%s: %v cached, want %v", name, got, c.cached)
		}
		if used := of(&sums[0]); used != 0 && math.Abs(of(&sums[1])+of(&sums[2])-used) > 1e-9 {
			t.Errorf("%s: parts %v and %v are not the %v used", name, of(&sums[1]), of(&sums[2]), used)
		}
	}
}

// TestSummedIsWhatAWriterSums: Summed and a Writer agree on the newest minutes, even if a figure is
// known for only a part of them.
func TestSummedIsWhatAWriterSums(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	var moments []*snapshot.Snapshot
	for i := range 400 {
		snap := q.next()
		g, p := &snap.GPUs[0], &snap.Rows[0]
		g.Memory.Used, g.Parts.Other = driver(70*quantity.GiB), driver(quantity.Bytes(i)*quantity.MiB)
		p.Cached, p.Other = probed(3*quantity.GiB), driver(quantity.GiB)
		switch i % 4 {
		case 0:
			g.Memory.Used, p.Used = snapshot.Bytes{}, snapshot.Bytes{}
		case 1:
			g.Parts.Other, p.Other = snapshot.Bytes{}, snapshot.Bytes{}
		}
		q.w.write(tick{snap, nil})
		moments = append(moments, snap)
	}
	type sums struct {
		begin                      time.Time
		covered                    time.Duration
		least, mean, most          quantity.Bytes
		allocated, cached, between quantity.Bytes
		other                      quantity.Bytes
	}
	collect := func(into map[any]sums, key any, s sums, used Sum, parts ...snapshot.Bytes) {
		of := func(v snapshot.Bytes) quantity.Bytes { return v.Or(-1) }
		s.least, s.mean, s.most = of(used.Min), of(used.Mean), of(used.Max)
		s.allocated, s.cached, s.between, s.other = of(parts[0]), of(parts[1]), of(parts[2]), of(parts[3])
		into[[2]any{key, s.begin}] = s
	}
	got, want := make(map[any]sums), make(map[any]sums)
	minutes := func(into map[any]sums) func(*GPUMinute) {
		return func(m *GPUMinute) {
			collect(into, m.GPUUUID, sums{begin: m.Time, covered: m.Covered}, m.Used, m.Allocated, m.Cached, m.Fragmented, m.Other)
		}
	}
	fives := func(into map[any]sums) func(*Process5Min) {
		return func(f *Process5Min) {
			collect(into, f.Row, sums{begin: f.Time, covered: f.Covered}, f.Used, f.Allocated, f.Cached, f.Fragmented, f.Other)
		}
	}
	summedMinutes, summedFives, err := Summed(func(add func(*snapshot.Snapshot)) error {
		for _, snap := range moments {
			add(snap)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range summedMinutes {
		minutes(got)(&summedMinutes[i])
	}
	for i := range summedFives {
		fives(got)(&summedFives[i])
	}
	r := q.end()
	from, to := r.Span()
	if err := r.GPUMinutes(from.Add(-time.Hour), to.Add(1), minutes(want)); err != nil {
		t.Fatal(err)
	}
	if err := r.Process5Min(from.Add(-time.Hour), to.Add(1), fives(want)); err != nil {
		t.Fatal(err)
	}
	if len(want) < 2*2+6 || !maps.Equal(got, want) {
		for key := range want {
			if got[key] != want[key] {
				t.Errorf("%v:\n%+v, the writer has\n%+v", key, got[key], want[key])
			}
		}
	}
}

// TestKeptCacheIsFragmented: cached memory that an allocator keeps, as JAX does, counts as fragmented for
// the process and for its GPU.
func TestKeptCacheIsFragmented(t *testing.T) {
	const keeps, frees = 30 * quantity.GiB, 4 * quantity.GiB
	p := snapshot.Process{
		Used: driver(60 * quantity.GiB), Allocated: probed(20 * quantity.GiB), Fragmented: probed(2 * quantity.GiB),
		Cached: probed(keeps + frees), Returnable: probed(frees),
	}
	p.ID.GPUUUID = "GPU-1"
	snap := &snapshot.Snapshot{Rows: []snapshot.Process{p}}
	g := &snapshot.GPU{UUID: "GPU-1"}
	g.Memory.Used = p.Used
	g.Parts = snapshot.PartsOf(p.Used, snap.Rows, func(*snapshot.Process) bool { return true })
	var gpu gpuSums
	var row processSums
	gpu.begin(0)
	row.begin(0)
	gpu.add(time.Second, g, snap, snapshot.Float{})
	row.add(time.Second, &p, share{})
	for name, parts := range map[string]struct {
		names []string
		sums  []sum
	}{"GPU": {gpuParts[:], gpu.parts[:]}, "process": {processParts[:], row.parts[:]}} {
		for part, want := range map[string]quantity.Bytes{"cached": frees, "fragmented": keeps + 2*quantity.GiB} {
			if got := parts.sums[slices.Index(parts.names, part)].area / float64(time.Second); got != float64(want) {
				t.Errorf("%s of the %s: %v, want %v", part, name, got, float64(want))
			}
		}
	}
}

// TestWindowEndsWhereTheNextBegins: a window also ends if the clock is set back to a time before it.
func TestWindowEndsWhereTheNextBegins(t *testing.T) {
	minute := int64(time.Minute)
	var w window
	w.set(10*minute+7, time.Minute)
	for now, want := range map[int64]bool{10*minute - 1: true, 10 * minute: false, 10*minute + 7: false, 11*minute - 1: false, 11 * minute: true} {
		if got := w.ended(now); got != want {
			t.Errorf("%s after it began: %t", time.Duration(now-10*minute), got)
		}
	}
}

// TestSingleMomentHasNoSums: a tick counts for the time since the previous one, which is missing here.
func TestSingleMomentHasNoSums(t *testing.T) {
	minutes, fives, err := Summed(func(add func(*snapshot.Snapshot)) error { add(newSynthetic(1, 1).next()); return nil })
	if err != nil || len(minutes) > 0 || len(fives) > 0 {
		t.Errorf("%+v, %+v, %v", minutes, fives, err)
	}
	var gpu gpuSums
	gpu.begin(0)
	gpu.add(0, &snapshot.GPU{UUID: "GPU-1"}, &snapshot.Snapshot{Rows: []snapshot.Process{{ID: snapshot.RowID{GPUUUID: "GPU-1"}}}}, snapshot.Float{})
	if gpu.processes != 0 {
		t.Errorf("%d processes in no time", gpu.processes)
	}
}

// TestProcessesOfAMinute: a minute has the most processes that its GPU had at a tick.
func TestProcessesOfAMinute(t *testing.T) {
	var sums gpuSums
	sums.begin(0)
	for _, processes := range [][]string{{"GPU-1"}, {"GPU-2", "GPU-1", "GPU-1", "GPU-2", "GPU-2"}, {"GPU-1"}} {
		snap := &snapshot.Snapshot{}
		for _, uuid := range processes {
			snap.Rows = append(snap.Rows, snapshot.Process{ID: snapshot.RowID{GPUUUID: uuid}})
		}
		sums.add(time.Second, &snapshot.GPU{UUID: "GPU-1"}, snap, snapshot.Float{})
	}
	if sums.processes != 2 {
		t.Errorf("%d processes, want 2", sums.processes)
	}
}

// TestEnergyOfASmallProcessIsNotRoundedAway: energy is recorded in whole joules, and the rounding error
// of a window goes to the next.
func TestEnergyOfASmallProcessIsNotRoundedAway(t *testing.T) {
	var sums processSums
	var joules []int64
	for range 5 {
		sums.begin(0)
		sums.add(time.Second, &snapshot.Process{}, share{energy: .4, metered: true})
		joules = append(joules, rounded(sums.share.energy, true).Or(-1))
	}
	if want := []int64{0, 1, 0, 1, 0}; !slices.Equal(joules, want) {
		t.Errorf("%v J, want %v", joules, want)
	}
}
