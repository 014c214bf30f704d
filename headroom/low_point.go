package headroom

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// LowPoint is the least that will be free within the time asked for, with its
// 80 % interval. A negative value is memory that will be wanted beyond the
// capacity: a flush must free that much before any of it is left for a job.
type LowPoint struct{ Median, Lower, Upper quantity.Bytes }

// Shown is the low point as free memory, which is never negative.
func (l LowPoint) Shown() LowPoint {
	return LowPoint{max(l.Median, 0), max(l.Lower, 0), max(l.Upper, 0)}
}

// lowest is the least that is free until length, on straight lines from now to
// the first horizon and from each to the next. The interval's ends are those of
// the forecasts on the way. It is nil where nothing is predicted that far.
func lowest(free, used quantity.Bytes, predicted []snapshot.Prediction, length time.Duration) *LowPoint {
	median, lower, upper := used, used, used // the highest on the way
	before := snapshot.Prediction{Median: used, Lower80: used, Upper80: used}
	for _, p := range predicted {
		if p.Horizon > length {
			p = between(before, p, length)
		}
		median, lower, upper = max(median, p.Median), max(lower, p.Lower80), max(upper, p.Upper80)
		if p.Horizon == length {
			left := func(highest quantity.Bytes) quantity.Bytes { return free - (highest - used) }
			return &LowPoint{Median: left(median), Lower: left(upper), Upper: left(lower)}
		}
		before = p
	}
	return nil
}

// between interpolates two forecasts.
func between(a, b snapshot.Prediction, at time.Duration) snapshot.Prediction {
	share := float64(at-a.Horizon) / float64(b.Horizon-a.Horizon)
	mix := func(a, b quantity.Bytes) quantity.Bytes { return a + quantity.Bytes(share*float64(b-a)) }
	return snapshot.Prediction{
		Horizon: at, Median: mix(a.Median, b.Median), Lower80: mix(a.Lower80, b.Lower80), Upper80: mix(a.Upper80, b.Upper80),
	}
}
