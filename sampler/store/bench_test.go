package store

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// source makes the values of one series, tick by tick.
type source func() int64

// stepping returns the memory of a process: it changes by multiples of 2 MiB every few minutes.
func stepping(random *rand.Rand) source {
	v := random.Int64N(80 << 30)
	return func() int64 {
		if random.IntN(240) == 0 {
			v += (random.Int64N(200) - 100) << 21
		}
		return v
	}
}

// noisy hardly ever repeats a value: the worst case.
func noisy(random *rand.Rand) source {
	return func() int64 { return 10_000 + random.Int64N(300) - 150 }
}

// sawing goes up and down between multiples of 512 bytes all the time: the
// allocated memory of a training job.
func sawing(random *rand.Rand) source {
	return func() int64 { return 40<<30 + random.Int64N(4<<30)&^511 }
}

func constant(random *rand.Rand) source {
	v := random.Int64N(80 << 30)
	return func() int64 { return v }
}

// rounded keeps a number of significant bits, as the sampler does with noisy metrics: 9 for host
// memory, 6 for a process's CPU and utilisation.
func rounded(v int64, digits int) int64 {
	drop := max(bits.Len64(uint64(v))-digits, 0)
	return (v + 1<<drop>>1) >> drop << drop
}

// mixed returns series like those that the sampler keeps of rows, eight of each row in turn. Used,
// allocated, cached, fragmented and returnable memory change in steps, host memory creeps, and in
// every second row the CPU and the utilisation are noise.
func mixed(random *rand.Rand, i int) source {
	busy := i/8%2 == 0
	switch i % 8 {
	case 0, 1, 2, 3, 4:
		return stepping(random)
	case 5:
		v := random.Int64N(30 << 30)
		return func() int64 {
			if random.IntN(20) == 0 {
				v += random.Int64N(64) << 12
			}
			return rounded(v, 9)
		}
	case 6:
		if busy {
			return func() int64 { return rounded(100+random.Int64N(30)-15, 6) }
		}
		return constant(random)
	default:
		if busy {
			return func() int64 { return rounded(90+random.Int64N(10), 6) }
		}
		return constant(random)
	}
}

type box struct {
	store   *Store
	series  []*Series
	sources []source
	now     time.Time
	values  []int64
}

func newBox(n int, sources func(*rand.Rand, int) source) *box {
	b := &box{store: New(), now: time.Unix(1_700_000_000, 0), values: make([]int64, n)}
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range n {
		b.series = append(b.series, b.store.Open())
		b.sources = append(b.sources, sources(random, i))
	}
	return b
}

// think makes the next values, outside the measured time.
func (b *box) think() {
	for i, next := range b.sources {
		b.values[i] = next()
	}
	b.now = b.now.Add(time.Second)
}

func (b *box) tick() {
	b.store.Begin(b.now)
	for i, r := range b.series {
		r.Append(b.values[i])
	}
	b.store.Commit()
}

func (b *box) run(ticks int) {
	for range ticks {
		b.think()
		b.tick()
	}
}

func only(s func(*rand.Rand) source) func(*rand.Rand, int) source {
	return func(random *rand.Rand, _ int) source { return s(random) }
}

// BenchmarkAppend measures a sample's share of appending, sealing, folding and forgetting.
func BenchmarkAppend(b *testing.B) {
	for _, tc := range []struct {
		name   string
		values func(*rand.Rand, int) source
	}{{"steps", only(stepping)}, {"mixed", mixed}, {"noise", only(noisy)}} {
		b.Run(tc.name, func(b *testing.B) {
			box := newBox(512, tc.values)
			box.run(4 * 3600)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += len(box.series) {
				b.StopTimer()
				box.think()
				b.StartTimer()
				box.tick()
			}
		})
	}
}

// BenchmarkTick8500 measures the ticks of a box with 8,500 series, and the slowest of them.
func BenchmarkTick8500(b *testing.B) {
	box := newBox(8500, mixed)
	box.run(4200)
	var took []time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		box.think()
		b.StartTimer()
		begin := time.Now()
		box.tick()
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "slowest-µs")
}

func BenchmarkBuckets(b *testing.B) {
	for _, values := range []struct {
		name string
		of   func(*rand.Rand) source
	}{{"steps", stepping}, {"noise", noisy}} {
		box := newBox(1, only(values.of))
		box.run(25 * 3600)
		for _, span := range []time.Duration{24 * time.Hour, time.Hour, 10 * time.Minute} {
			b.Run(fmt.Sprintf("%s/%v", values.name, span), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					if got := box.series[0].Buckets(box.now.Add(-span), box.now, 200); !got[199].Known {
						b.Fatal("the newest column is empty")
					}
				}
			})
		}
	}
}

func BenchmarkAt(b *testing.B) {
	box := newBox(1, only(stepping))
	box.run(25 * 3600)
	for _, ago := range []time.Duration{0, 30 * time.Minute, 12 * time.Hour} {
		b.Run(fmt.Sprintf("%v ago", ago), func(b *testing.B) {
			for range b.N {
				if _, _, ok := box.series[0].At(box.now.Add(-ago)); !ok {
					b.Fatal("not there")
				}
			}
		})
	}
}

// BenchmarkMemory measures how much the heap grows by a series of 25 hours at one tick a second.
func BenchmarkMemory(b *testing.B) {
	const n = 256
	for _, tc := range []struct {
		name   string
		values func(*rand.Rand, int) source
	}{{"constant", only(constant)}, {"steps", only(stepping)}, {"mixed", mixed}, {"noise", only(noisy)}, {"sawing", only(sawing)}} {
		b.Run(tc.name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			box := newBox(n, tc.values)
			box.run(25 * 3600)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/series")
			b.ReportMetric(0, "ns/op") // no time is reported, because the code runs only once for any b.N
			runtime.KeepAlive(box)
		})
	}
}
