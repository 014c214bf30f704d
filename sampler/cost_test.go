package sampler

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// BenchmarkThousandSeries measures the cost of forecasting 1,000 series at ten samples per second,
// as a share of a core: thinned as in the monitor, and with every sample.
func BenchmarkThousandSeries(b *testing.B) {
	const series, rate = 1000, 10
	for _, kind := range []struct {
		name string
		next func(*rand.Rand, quantity.Bytes) quantity.Bytes
	}{
		{"steady", func(_ *rand.Rand, used quantity.Bytes) quantity.Bytes { return used }},
		{"restless", func(random *rand.Rand, used quantity.Bytes) quantity.Bytes {
			return max(used+quantity.Bytes(random.IntN(400)-190)*mib, gib)
		}},
	} {
		for _, every := range []struct {
			name string
			give func(*outlook, time.Time, quantity.Bytes)
		}{
			{"monitor", func(o *outlook, now time.Time, used quantity.Bytes) {
				o.observe(now, quantity.From(used, quantity.Driver), paceOf(series))
			}},
			{"every sample", func(o *outlook, now time.Time, used quantity.Bytes) {
				o.forecaster.Observe(now, int64(used))
				o.predicted = predictions(o.forecaster)
				o.forecaster.Trend()
			}},
		} {
			b.Run(kind.name+"/"+every.name, func(b *testing.B) {
				random := rand.New(rand.NewPCG(1, 2))
				outlooks, used := make([]outlook, series), make([]quantity.Bytes, series)
				for i := range outlooks {
					outlooks[i].forecaster, used[i] = forecast.New(), 10*gib
				}
				now := start
				tick := func() {
					now = now.Add(time.Second / rate)
					for i := range outlooks {
						every.give(&outlooks[i], now, used[i])
					}
				}
				change := func() {
					for i := range used {
						used[i] = kind.next(random, used[i])
					}
				}
				for i := range 60 * rate {
					if i%rate == 0 {
						change()
					}
					tick()
				}
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					change()
					for range rate {
						tick()
					}
				}
				perSecond := b.Elapsed() / time.Duration(b.N)
				b.ReportMetric(100*perSecond.Seconds(), "%core")
				b.ReportMetric(float64(unsafe.Sizeof(forecast.Forecaster{})+unsafe.Sizeof(outlook{})+
					uintptr(len(forecast.Horizons))*unsafe.Sizeof(snapshot.Prediction{})), "B/series")
			})
		}
	}
}

// TestMemoryOfARow limits how much of the heap a row takes after three minutes, including snapshot,
// history and forecasts. A box with 5,000 processes has as many rows.
func TestMemoryOfARow(t *testing.T) {
	for _, tc := range []struct {
		name  string
		moves bool
		most  int64 // bytes
	}{{"still", false, 5000}, {"moving", true, 19000}} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const gpus, processes = 2, 128
		b := fullBox(gpus, processes)
		s := b.sampler()
		for tick := range 200 {
			b.mu.Lock()
			b.now = b.now.Add(time.Second)
			for i := range b.devices {
				for j := range b.readings[b.devices[i].UUID].Processes {
					if tc.moves {
						b.readings[b.devices[i].UUID].Processes[j].Used = measured(gib + quantity.Bytes(tick%7)<<20)
					}
				}
			}
			b.mu.Unlock()
			s.Tick(b.now)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		row := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / (gpus * processes)
		runtime.KeepAlive(s)
		runtime.KeepAlive(b)
		t.Logf("%s: %d bytes a row", tc.name, row)
		if row > tc.most || row <= 0 {
			t.Errorf("%s: %d bytes a row, at most %d are allowed", tc.name, row, tc.most)
		}
	}
}
