package sampler

import (
	"math"
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A process that starts or ends is a step in its GPU's memory, not growth. A forecaster that sees
// only the sum takes the step for growth. So while a step is fresh, the forecast of the GPU is the
// sum of its processes' forecasts (bottom-up: Hyndman & Athanasopoulos, FPP3, section 11.2), or the
// GPU's own while a process loads. For the time to full, a process in its first load stays as it is.
// The errors of the processes count as independent. The error of the sum is at least that of the
// GPU's own forecaster, which knows how large steps usually are.

// stepRemembered is how long a step counts as fresh: two half-lives of the farthest horizon's weights.
const stepRemembered = 45 * time.Minute

// predict forecasts a region and when it will be full: with the region's own forecaster or, if the region
// is disturbed, with its processes' forecasters.
func (s *Sampler) predict(now time.Time, own *outlook, at *region, loads loads) snapshot.Outlook {
	if !s.disturbed(now, at) {
		return snapshot.Outlook{Predicted: own.predicted, FullIn: loads.believe(own.fullIn(at.Memory))}
	}
	var parts, doubted []*forecast.Forecaster
	loading, loaded := false, false
	for i := range at.rows {
		if r := s.rows[at.rows[i].ID]; at.holds(&at.rows[i]) {
			loading, loaded = loading || r.load.loads() || r.load.later(), loaded || r.load.fresh(now)
			switch f := r.outlook.forecaster; {
			case f == nil || r.load.loads():
			case r.load.later():
				doubted = append(doubted, f)
			default:
				parts = append(parts, f)
			}
		}
	}
	full := whenFull(now, at.Memory, parts...)
	if full == nil && len(doubted) > 0 {
		full = loads.believe(whenFull(now, at.Memory, append(parts, doubted...)...))
	}
	if full == nil && !loaded {
		full = own.fullIn(at.Memory)
	}
	path := s.sumOf(own.predicted, at)
	if loading || len(path) == 0 {
		path = own.predicted // how far a load goes is unknown
	}
	return snapshot.Outlook{Predicted: path, FullIn: full}
}

// disturbed reports whether the sum of the processes' forecasts is better than the region's own: a large
// process has started or ended lately, or a process loads, or rises and falls in cycles. The used memory of
// each process must be known, and the sum nearly all of the region's.
func (s *Sampler) disturbed(now time.Time, at *region) bool {
	matters := at.Capacity().Or(0) / 100
	fresh := false
	var explained quantity.Bytes
	for i := range at.rows {
		p := &at.rows[i]
		if !at.holds(p) {
			continue
		}
		used, known := p.Used.Value()
		if !known {
			return false
		}
		explained += used
		r := s.rows[p.ID]
		fresh = fresh || len(r.load.past) > 0 || p.Trend == snapshot.TrendSawtooth || r.load.loads() || r.load.later() || used >= matters && !r.came.IsZero() && now.Sub(r.came) < stepRemembered
	}
	for i := range s.ended {
		left := &s.ended[i]
		if now.Sub(left.Ended) >= stepRemembered {
			break // the list is newest first
		}
		fresh = fresh || at.holds(&left.Last) && left.Last.Peak.Or(0) >= matters
	}
	return fresh && explained >= at.Used.Or(0)*9/10
}

// sumOf returns the sum of the forecasts of a region's processes. own is the region's own forecast.
func (s *Sampler) sumOf(own []snapshot.Prediction, at *region) (path []snapshot.Prediction) {
	var spreads [4]float64 // sums of squares at one horizon
	longest := 0
	for i := range at.rows {
		if at.holds(&at.rows[i]) {
			longest = max(longest, len(at.rows[i].Predicted))
		}
	}
	for h := range longest {
		sum := snapshot.Prediction{Median: at.Used.Or(0)}
		clear(spreads[:])
		var smallest [4]quantity.Bytes
		if h < len(own) {
			smallest = spreadOf(&own[h])
		}
		for i := range at.rows {
			p := &at.rows[i]
			if !at.holds(p) || h >= len(p.Predicted) || s.rows[p.ID].load.loads() || s.rows[p.ID].load.later() {
				continue
			}
			predicted := &p.Predicted[h]
			sum.Horizon = predicted.Horizon
			sum.Median += predicted.Median - p.Used.Or(0)
			for j, off := range spreadOf(predicted) {
				spreads[j] += float64(off) * float64(off)
			}
		}
		if sum.Horizon == 0 {
			break
		}
		off := func(j int) quantity.Bytes { return max(quantity.Bytes(math.Sqrt(spreads[j])), smallest[j]) }
		sum.Median = max(sum.Median, 0)
		sum.Lower95, sum.Lower80 = max(sum.Median-off(0), 0), max(sum.Median-off(1), 0)
		sum.Upper80, sum.Upper95 = sum.Median+off(2), sum.Median+off(3)
		path = append(path, sum)
	}
	return path
}

// spreadOf returns the distances from the median to the ends of the intervals.
func spreadOf(p *snapshot.Prediction) [4]quantity.Bytes {
	return [4]quantity.Bytes{p.Median - p.Lower95, p.Median - p.Lower80, p.Upper80 - p.Median, p.Upper95 - p.Median}
}
