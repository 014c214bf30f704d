package recording

import (
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// A monitor that starts while a daemon records shows the same history as one that has run all the time.
func TestJoinedHistoriesAreOne(t *testing.T) {
	b := newBox(t, Options{FullCommands: true})
	for range 200 {
		b.tick(time.Second)
	}
	late := sampler.New(sampler.Options{Devices: b.sim, Probes: b.sim, Processes: b.sim, Clock: func() time.Time { return b.now }, Simulated: true, Deadline: time.Minute})
	seam := b.now.Add(time.Second)
	for range 100 {
		b.tick(time.Second)
		late.Tick(b.now)
	}
	whole, now := b.sampler.History(), b.now
	j := Join(late.History(), func(err error) { t.Error(err) })
	if _, ok := j.At(seam.Add(-time.Minute)); ok {
		t.Fatal("there is a past before Before")
	}
	if !j.Before(b.close()) {
		t.Fatal("the recording is of no use")
	}
	if oldest, newest := j.Span(); !oldest.Equal(start.Add(time.Second)) || !newest.Equal(now) {
		t.Errorf("span %v to %v", oldest, newest)
	}
	used := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: b.sampler.Latest().GPUs[0].UUID}
	for i, p := range j.Whole().Series(used, start, now, 30) {
		if !p.Known {
			t.Errorf("who waits gets a gap at %v, bucket %d", p.Time, i)
		}
	}
	for _, at := range []time.Time{seam.Add(-100 * time.Second), seam.Add(-time.Second), seam, now} {
		got, ok := j.At(at)
		want, _ := whole.At(at)
		if !ok || len(got.Rows) != len(want.Rows) || got.GPUs[0].Memory.Used != want.GPUs[0].Memory.Used {
			t.Errorf("at %v: %v", at, ok)
		}
	}
	if got, want := len(j.Events(0)), len(whole.Events(0)); got < want {
		t.Errorf("%d events, want %d", got, want)
	}
	if got := j.Events(3); len(got) != 3 {
		t.Errorf("%d events, want 3", len(got))
	}
	latest, _ := whole.At(now)
	key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: latest.GPUs[1].UUID}
	for _, window := range []struct {
		n        int
		from, to time.Time
	}{
		{30, now.Add(-280 * time.Second), now},
		{110, now.Add(-280 * time.Second), now},
		{280, now.Add(-280 * time.Second), now},
		{30, seam.Add(-180 * time.Second), seam.Add(-100 * time.Second)}, // ends more than one window before the seam
		{10, seam.Add(-60 * time.Second), seam.Add(-40 * time.Second)},
	} {
		n, from, to := window.n, window.from, window.to
		j.Series(key, from, to, n)
		var got []snapshot.Point
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			got = j.Series(key, from, to, n)
			if !slices.ContainsFunc(got[1:], func(p snapshot.Point) bool { return !p.Known }) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the past is not read")
			}
		}
		want := whole.Series(key, from, to, n)
		for i := range want {
			if !got[i].Time.Equal(want[i].Time) || !got[i].Known {
				t.Fatalf("%d buckets: point %d is %+v, want %+v", n, i, got[i], want[i])
			}
			// A bucket may start up to its own width earlier.
			if to.Sub(seam) > to.Sub(want[i].Time) && got[i] != want[i] {
				t.Fatalf("%d buckets: point %d is %+v, want %+v", n, i, got[i], want[i])
			}
		}
	}
}

// blind is a history without figures.
type blind struct{ *stretch }

func (blind) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	return snapshot.Points(from, to, buckets)
}

// The earlier history fills the buckets up to the one that has the seam, and none after it.
func TestJoinedPastEndsAtTheSeam(t *testing.T) {
	j := Join(blind{&stretch{number: 2, oldest: 20, newest: 30}}, func(err error) { t.Error(err) })
	if !j.Before(&stretch{number: 1, oldest: 1, newest: 29}) {
		t.Fatal("the past is of no use")
	}
	if points := j.Series(snapshot.SeriesKey{}, time.Unix(15, 0), time.Unix(25, 0), 0); len(points) != 0 {
		t.Errorf("%d points", len(points))
	}
	for _, off := range []time.Duration{0, time.Second / 2} {
		from := time.Unix(15, 0).Add(off)
		series := func() []snapshot.Point { return j.Series(snapshot.SeriesKey{}, from, from.Add(10*time.Second), 10) }
		eventually(t, func() bool { return series()[0].Known })
		for _, p := range series() {
			if want := p.Time.Before(time.Unix(21, 0)); p.Known != want {
				t.Errorf("%v after the seam: known %t", p.Time.Sub(time.Unix(20, 0)), p.Known)
			}
		}
	}
}

// A graph has no least window, so buckets may be shorter than a nanosecond.
func TestJoinedShortBuckets(t *testing.T) {
	b := newBox(t, Options{})
	b.tick(time.Second)
	j := Join(b.sampler.History(), func(err error) { t.Error(err) })
	seam := b.now
	j.before, j.seam, j.oldest = b.close(), seam, seam.Add(-time.Hour)
	key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: "GPU"}
	j.Series(key, seam.Add(-5), seam.Add(5), 20)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		j.mu.Lock()
		reading := j.reading
		j.mu.Unlock()
		if !reading || time.Now().After(deadline) {
			break
		}
	}
	if points := j.Series(key, seam.Add(-5), seam.Add(5), 20); len(points) != 20 {
		t.Errorf("%d points", len(points))
	}
}

func TestJoinedWithoutAPast(t *testing.T) {
	sim := simulator.New(simulator.Options{Seed: 1, Clock: func() time.Time { return start }})
	live := sampler.New(sampler.Options{Devices: sim, Probes: sim, Processes: sim, Clock: func() time.Time { return start }})
	j := Join(live.History(), func(err error) { t.Error(err) })
	if j.Before(live.History()) {
		t.Error("a history that has not begun has a past")
	}
	live.Tick(start)
	if j.Before(live.History()) {
		t.Error("a history is its own past")
	}
	if points := j.Series(snapshot.SeriesKey{}, start, start, 0); len(points) != 0 {
		t.Error("points without buckets")
	}
}

// daemonPast is the history of a daemon that may not be running.
type daemonPast struct {
	snapshot.History
	away atomic.Bool
}

func (p *daemonPast) Away() bool { return p.away.Load() }

func (p *daemonPast) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	if p.away.Load() {
		return make([]snapshot.Point, buckets)
	}
	return p.History.Series(key, from, to, buckets)
}

// Points that were requested while the daemon was not running are requested again.
func TestJoinedAsksAgain(t *testing.T) {
	b := newBox(t, Options{})
	for range 100 {
		b.tick(time.Second)
	}
	late := sampler.New(sampler.Options{Devices: b.sim, Probes: b.sim, Processes: b.sim, Clock: func() time.Time { return b.now }, Simulated: true, Deadline: time.Minute})
	b.tick(time.Second)
	late.Tick(b.now)
	earlier := &daemonPast{History: b.close()}
	j := Join(late.History(), func(err error) { t.Error(err) })
	if !j.Before(earlier) {
		t.Fatal("the recording is of no use")
	}
	latest, _ := late.History().At(b.now)
	known := func() bool {
		points := j.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: latest.GPUs[0].UUID}, b.now.Add(-90*time.Second), b.now, 30)
		return points[3].Known
	}
	settled := func() bool { j.mu.Lock(); defer j.mu.Unlock(); return !j.reading }
	earlier.away.Store(true)
	if known() {
		t.Fatal("a daemon that is away has answered")
	}
	eventually(t, settled)
	earlier.away.Store(false)
	eventually(t, known)
}

// samples is a history of single samples, by Unix milliseconds.
type samples map[int64]int64

func (s samples) At(time.Time) (*snapshot.Snapshot, bool) { return nil, false }
func (s samples) Events(int) []snapshot.Event             { return nil }

func (s samples) Span() (oldest, newest time.Time) {
	times := slices.Sorted(maps.Keys(s))
	return time.UnixMilli(times[0]), time.UnixMilli(times[len(times)-1])
}

func (s samples) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := snapshot.Points(from, to, buckets)
	for _, ms := range slices.Sorted(maps.Keys(s)) {
		if at := time.UnixMilli(ms); at.After(from) && !at.After(to) {
			points[slices.IndexFunc(points, func(p snapshot.Point) bool { return !p.Time.Before(at) })].Add(s[ms])
		}
	}
	return points
}

// TestJoinedSampleIsOfItsBucket: each sample before the seam is in the bucket of its time, also where the
// earlier history begins within the graph. At the seam there is the live history's sample only.
func TestJoinedSampleIsOfItsBucket(t *testing.T) {
	j := Join(samples{20_000: 20, 20_500: 21, 22_000: 22}, func(err error) { t.Error(err) })
	if !j.Before(samples{4_500: 5, 5_500: 6, 12_500: 13, 18_500: 19, 20_000: 99, 20_500: 99}) {
		t.Fatal("the earlier history is of no use")
	}
	for _, to := range []int64{10, 20, 22} {
		series := func() []snapshot.Point {
			return j.Series(snapshot.SeriesKey{}, time.Unix(0, 0), time.Unix(to, 0), int(to))
		}
		eventually(t, func() bool { return series()[4].Known })
		for _, p := range series() {
			want := map[int64]int64{5: 5, 6: 6, 13: 13, 19: 19, 20: 20, 21: 21, 22: 22}[p.Time.Unix()]
			if p.Known != (want != 0) || p.Known && (p.Min != want || p.Max != want || p.Last != want) {
				t.Errorf("to %d s: at %d s: %+v, want %d", to, p.Time.Unix(), p, want)
			}
		}
	}
}

// TestJoinedAsksForNothingBesideThePast: without an earlier history, or after the seam, there is nothing to read.
func TestJoinedAsksForNothingBesideThePast(t *testing.T) {
	j := Join(samples{20_000: 2, 30_000: 3}, func(err error) { t.Error(err) })
	for _, past := range []bool{false, true} {
		if past && !j.Before(samples{5_000: 5}) {
			t.Fatal("the earlier history is of no use")
		}
		if points := j.Series(snapshot.SeriesKey{}, time.Unix(20, 0), time.Unix(30, 0), 5); !points[4].Known || len(j.grids) > 0 {
			t.Errorf("with a past, %t: %+v, %d parts are asked for", past, points, len(j.grids))
		}
	}
}

// TestJoinedForgetsGraphs: a monitor that draws more and more graphs does not keep all of them.
func TestJoinedForgetsGraphs(t *testing.T) {
	j := Join(samples{20_000: 2}, func(err error) { t.Error(err) })
	if !j.Before(samples{5_000: 5}) {
		t.Fatal("the earlier history is of no use")
	}
	for i := range mostGrids + 1 {
		j.Series(snapshot.SeriesKey{GPUUUID: strconv.Itoa(i)}, time.Unix(10, 0), time.Unix(19, 0), 1)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.grids) > mostGrids || len(j.grids) == 0 {
		t.Errorf("%d are kept", len(j.grids))
	}
}
