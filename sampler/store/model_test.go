package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vramscope/metric"
)

// The reads are compared with a model that keeps every sample in a slice and
// computes each answer as documented.

type modelSample struct {
	tick int64
	v    int64
}

type modelSeries struct {
	series  *Series
	turn    int64
	closed  bool
	samples []modelSample
}

type model struct {
	store  *Store
	ticks  []time.Time
	series []*modelSeries
}

// cursor returns the first ordinal that the series keeps in full resolution.
func (m *model) cursor(s *modelSeries) int64 {
	newest := int64(len(m.ticks) - 1)
	return newest - (newest-s.turn+blockPlaces)%blockPlaces - m.store.full
}

func (m *model) bucketBegin(tick int64) int64 {
	return floor(m.ticks[tick].UnixNano(), m.store.width)
}

// coarse returns the buckets of a series within the span, by the times at which they begin.
func (m *model) coarse(s *modelSeries) (begins []int64, values map[int64]extent) {
	values = make(map[int64]extent)
	cursor := m.cursor(s)
	oldest := m.ticks[len(m.ticks)-1].UnixNano() - m.store.span - m.store.width
	for _, x := range s.samples {
		begin := m.bucketBegin(x.tick)
		if x.tick >= cursor || begin <= oldest {
			continue
		}
		e, ok := values[begin]
		if !ok {
			begins = append(begins, begin)
			e = extent{x.v, x.v, x.v}
		}
		values[begin] = extent{min(e.min, x.v), max(e.max, x.v), x.v}
	}
	return begins, values
}

func (m *model) at(s *modelSeries, t time.Time) (v int64, at time.Time, ok bool) {
	tick := int64(-1)
	for i, x := range m.ticks {
		if !x.After(t) {
			tick = int64(i)
		}
	}
	if tick < 0 {
		return 0, time.Time{}, false
	}
	if tick >= m.cursor(s) {
		for _, x := range s.samples {
			if x.tick == tick {
				return x.v, m.ticks[tick], true
			}
		}
		return 0, time.Time{}, false
	}
	bucket := int64(math.MinInt64)
	for i := range m.ticks {
		if begin := m.bucketBegin(int64(i)); begin+m.store.width <= t.UnixNano() {
			bucket = begin
		}
	}
	_, values := m.coarse(s)
	e, ok := values[bucket]
	return e.last, time.Unix(0, bucket+m.store.width), ok
}

func (m *model) columns(s *modelSeries, from, to time.Time, n int) []metric.Point {
	out := make([]metric.Point, n)
	span := to.UnixNano() - from.UnixNano()
	end := func(i int) int64 {
		k := int64(i + 1)
		return from.UnixNano() + span/int64(n)*k + span%int64(n)*k/int64(n)
	}
	touch := func(first, last int64, e extent) {
		for i := range out {
			begin := from.UnixNano()
			if i > 0 {
				begin = end(i - 1)
			}
			if last <= begin || first > end(i) {
				continue
			}
			b := &out[i]
			if !b.Known {
				*b = metric.Point{Min: e.min, Max: e.max, Last: e.last, Known: true}
			}
			b.Min, b.Max, b.Last = min(b.Min, e.min), max(b.Max, e.max), e.last
		}
	}
	cursor := m.cursor(s)
	begins, values := m.coarse(s)
	for i, begin := range begins {
		stop := begin + m.store.width
		if i == len(begins)-1 && cursor < int64(len(m.ticks)) {
			stop = min(stop, m.ticks[cursor].UnixNano())
		}
		if span/int64(n) >= m.store.width {
			touch(stop, stop, values[begin])
		} else {
			touch(begin, stop-1, values[begin])
		}
	}
	for _, x := range s.samples {
		if x.tick >= cursor {
			t := m.ticks[x.tick].UnixNano()
			touch(t, t, extent{x.v, x.v, x.v})
		}
	}
	for i := range out {
		out[i].Time = time.Unix(0, end(i))
	}
	return out
}

func TestReadsEqualAPlainModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { checkAgainstModel(t, seed) })
	}
}

func checkAgainstModel(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	interval := []time.Duration{100 * time.Millisecond, time.Second, 4 * time.Second, time.Minute}[seed%4]
	store := newStore(50+random.Int64N(500), 5*time.Second, interval*time.Duration(800+random.IntN(2500)))
	m := &model{store: store}
	now := time.Unix(1_700_000_000, random.Int64N(1e9))
	jitter := int64(interval)/5 + 1
	if seed%3 == 0 { // ticks fall on the borders of buckets and columns
		now, jitter = now.Truncate(time.Minute), 1
	}
	for range 3500 {
		now = now.Add(interval + time.Duration(random.Int64N(jitter)))
		switch random.IntN(300) {
		case 0:
			now = now.Add(interval * time.Duration(random.IntN(100))) // suspended
		case 1:
			m.open(random)
		case 2, 3:
			if n := len(m.series); n > 2 {
				s := m.series[random.IntN(n)]
				s.series.Close()
				s.closed = true
			}
		}
		m.tick(t, now, random)
		if random.IntN(150) == 0 {
			m.compare(t, random)
		}
	}
	m.compare(t, random)
}

func (m *model) open(random *rand.Rand) {
	m.store.opened += random.IntN(blockPlaces) // the next series begins at any tick of a block
	turn := int64(m.store.opened % blockPlaces)
	m.series = append(m.series, &modelSeries{series: m.store.Open(), turn: turn})
}

func (m *model) tick(t *testing.T, now time.Time, random *rand.Rand) {
	t.Helper()
	if !m.store.Begin(now) {
		t.Fatalf("Begin(%v) refused", now)
	}
	if len(m.series) == 0 {
		m.open(random)
	}
	m.ticks = append(m.ticks, now)
	tick := int64(len(m.ticks) - 1)
	for i, s := range m.series {
		var v int64
		if n := len(s.samples); n > 0 {
			v = s.samples[n-1].v
		}
		switch {
		case i%4 == 3: // never changes
			s.series.Append(9)
			if !s.closed {
				s.samples = append(s.samples, modelSample{tick, 9})
			}
			continue
		case i%3 == 0 && random.IntN(40) == 0:
			v += (random.Int64N(400) - 200) << 20
		case i%3 == 1:
			v = random.Int64N(1000)
		case i%3 == 2 && random.IntN(30) == 0:
			v = int64(random.Uint64())
		}
		outage := tick/200%4 == 3 && i%2 == 0
		if outage || random.IntN(25) == 0 {
			continue
		}
		s.series.Append(v)
		if !s.closed {
			s.samples = append(s.samples, modelSample{tick, v})
		}
	}
	m.store.Commit()
}

func (m *model) compare(t *testing.T, random *rand.Rand) {
	t.Helper()
	first, last := m.ticks[0], m.ticks[len(m.ticks)-1]
	reach := last.Sub(first) + 20*time.Second
	moment := func() time.Time {
		if random.IntN(3) == 0 {
			return m.ticks[random.IntN(len(m.ticks))]
		}
		return first.Add(-10*time.Second + time.Duration(random.Int64N(int64(reach))))
	}
	for range 30 {
		s := m.series[random.IntN(len(m.series))]
		when := moment()
		v, at, ok := s.series.At(when)
		wantV, wantAt, wantOK := m.at(s, when)
		if ok != wantOK || ok && (v != wantV || !at.Equal(wantAt)) {
			t.Fatalf("At(%v) = %d, %v, %v; want %d, %v, %v", when, v, at, ok, wantV, wantAt, wantOK)
		}
	}
	for range 3 {
		s := m.series[random.IntN(len(m.series))]
		from, to := moment(), moment()
		if random.IntN(2) == 0 { // zoomed in
			to = from.Add(time.Second * time.Duration(random.IntN(60)))
		}
		if from.After(to) {
			from, to = to, from
		}
		if !from.Before(to) {
			continue
		}
		n := 1 + random.IntN(120)
		got, want := s.series.Buckets(from, to, n), m.columns(s, from, to, n)
		equal := func(a, b metric.Point) bool {
			timesEqual := a.Time.Equal(b.Time)
			a.Time, b.Time = time.Time{}, time.Time{}
			return timesEqual && a == b
		}
		if !slices.EqualFunc(got, want, equal) {
			for i := range want {
				if !equal(got[i], want[i]) {
					t.Errorf("column %d of %d: %+v, want %+v", i, n, got[i], want[i])
				}
			}
			t.Fatalf("Buckets(%v, %v, %d)", from, to, n)
		}
	}
}
