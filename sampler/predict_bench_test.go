package sampler

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// BenchmarkThousandSeries is the cost of forecasting 1,000 series at ten samples a
// second, as a share of a core: thinned to a sample a second as in the monitor,
// and with every sample.
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
