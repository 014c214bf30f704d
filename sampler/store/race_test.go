package store

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Every series has the number of the tick as its value, so that a reader detects a
// sample that is half written, moved or published too early.
func TestReadersDuringWrites(t *testing.T) {
	s := New(Options{FullSamples: 300, BucketWidth: 5 * time.Second, BucketSpan: 20 * time.Minute})
	begin := time.Unix(1_700_000_000, 0)
	const ticks = 4000
	var mu sync.Mutex
	series := []*Series{s.Open(), s.Open()}

	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			random := rand.New(rand.NewPCG(uint64(i), 3))
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				a, b := series[random.IntN(len(series))], series[random.IntN(len(series))]
				mu.Unlock()
				checkRead(t, s, a, b, begin, random)
			}
		}()
	}
	for tick := range int64(ticks) {
		if tick%100 == 50 {
			mu.Lock()
			series = append(series, s.Open())
			if len(series) > 20 {
				series[0].Close()
				series = series[1:]
			}
			mu.Unlock()
		}
		if !s.Begin(begin.Add(time.Duration(tick) * time.Second)) {
			t.Fatal("refused")
		}
		for _, r := range series {
			r.Append(tick)
		}
		s.Commit()
	}
	close(stop)
	readers.Wait()
	if oldest, newest := s.Span(); newest.Sub(oldest) < 20*time.Minute {
		t.Errorf("span %v to %v", oldest, newest)
	}
}

func checkRead(t *testing.T, s *Store, a, b *Series, begin time.Time, random *rand.Rand) {
	oldest, newest := s.Span()
	if newest.IsZero() {
		return
	}
	// Where the writer is far ahead, newest is in the coarse resolution by now: the
	// last sample of a bucket, and the bucket's end.
	full := newest.Unix()%5 != 0 // no bucket ends there
	v, at, ok := a.At(newest)
	if age := at.Sub(begin.Add(time.Duration(v) * time.Second)); ok && age != 0 && (age < 0 || age > 5*time.Second || full && at.Equal(newest)) {
		t.Errorf("At(%v) gives %d of %v", newest, v, at)
	}
	if w, then, both := b.At(newest); ok && both && full && at.Equal(newest) && then.Equal(newest) && v != w {
		t.Errorf("a tick was published by halves: %d and %d", v, w)
	}
	from := oldest.Add(time.Duration(random.Int64N(int64(newest.Sub(oldest)) + 1)))
	last := int64(-1)
	for _, c := range a.Buckets(from, newest, 50) {
		if !c.Known {
			continue
		}
		// A column ends with the last sample at or before its end, and a bucket
		// that is spread over columns ends up to its width later.
		newestTick := int64(c.Time.Sub(begin)/time.Second) + 5
		if c.Min > c.Last || c.Last != c.Max || c.Max < last || c.Max > newestTick {
			t.Errorf("column ending %v has %d %d %d after %d", c.Time, c.Min, c.Last, c.Max, last)
		}
		last = c.Last
	}
}
