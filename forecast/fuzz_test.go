package forecast

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
)

// FuzzForecaster feeds any bytes at any times, and checks what every caller relies
// on.
func FuzzForecaster(f *testing.F) {
	seed := func(samples ...int64) {
		var data []byte
		for range 12 {
			for _, v := range samples {
				data = binary.LittleEndian.AppendUint64(data, uint64(v))
			}
		}
		f.Add(data)
	}
	seed(1e9, 1<<30, 1e9, 2<<30, 1e9, 3<<30)
	seed(1e9, math.MaxInt64, 1, 0, 1e9, math.MinInt64, 1e9, -1)
	seed(math.MaxInt64, 5, math.MinInt64, 7, 1e18, 9, -1e18, math.MaxInt64)
	seed(57e9, 20<<30, 57e9, 20<<30, 3600e9, 70<<30)
	seed(100e6, 1<<40, 100e6, 1<<41, 0, 1<<42)
	f.Fuzz(func(t *testing.T, data []byte) {
		forecaster := New()
		now := noon
		room := make([]Interval, 0, len(Horizons))
		for len(data) >= 16 {
			step, y := int64(binary.LittleEndian.Uint64(data)), int64(binary.LittleEndian.Uint64(data[8:]))
			data = data[16:]
			now = now.Add(time.Duration(step))
			if y%7 == 3 {
				forecaster.Gap(now)
			}
			forecaster.Observe(now, y)
			if y%11 == 5 {
				forecaster.Observe(time.Unix(step, y), y) // from any year
			}
			room = forecaster.Forecasts(room[:0])
			for _, in := range room {
				sane(t, in)
			}
			if full, ok := forecaster.FullIn(y ^ step); ok {
				saneFull(t, full, time.Duration(1e9*forecaster.state.Step))
			}
			if rate, ok := forecaster.GrowthPerSecond(); ok && (math.IsNaN(rate) || math.IsInf(rate, 0)) {
				t.Fatalf("grows by %v", rate)
			}
		}
		for _, o := range forecaster.state.Outlook {
			for _, v := range []float64{o.Change, o.Rise, float64(o.Spread.Lower80), float64(o.Spread.Upper80), float64(o.Spread.Lower95), float64(o.Spread.Upper95)} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("an outlook of %+v", o)
				}
			}
		}
	})
}

func sane(t *testing.T, in Interval) {
	t.Helper()
	if in.Lower95 < 0 || in.Lower95 > in.Lower80 || in.Lower80 > in.Median || in.Median > in.Upper80 || in.Upper80 > in.Upper95 {
		t.Fatalf("not nested: %+v", in)
	}
}

func saneFull(t *testing.T, full FullIn, step time.Duration) {
	t.Helper()
	last := Horizons[len(Horizons)-1]
	if full.Earliest < 0 || full.Earliest > full.Median || full.Median > last || full.Latest > last+step ||
		full.Latest != 0 && full.Latest < full.Median {
		t.Fatalf("out of order: %+v", full)
	}
}
