package sampler

import (
	"math"
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A process that starts or ends is a step in its GPU's memory, and no growth. A
// forecaster that sees only the sum takes the step for growth: with an
// evaluation that starts beside a leak, the time to full was a quarter too early
// for six minutes and then a third too late. So while such a step is fresh the
// GPU is forecast from the bottom up (Hyndman & Athanasopoulos, FPP3, section
// 11.2): as the sum of its processes' forecasts, where a process that still
// loads is expected to stay as it is. The errors count as independent, and as no
// smaller than those of the GPU's own forecaster, which knows how large steps
// usually are.

// stepRemembered is how long a step counts as fresh: two half-lives of the
// farthest horizon's weights.
const stepRemembered = 45 * time.Minute

// predict is the forecast of a GPU and when it will be full: by its own
// forecaster or, after a step, by those of its processes.
func (s *Sampler) predict(now time.Time, g *gpu, out *snapshot.GPU, rows []snapshot.Process) snapshot.Outlook {
	own := g.outlook.predicted
	loads := s.loadsOf(rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == out.UUID })
	if !s.disturbed(now, out, rows) {
		return snapshot.Outlook{Predicted: own, FullIn: loads.believe(g.outlook.fullIn(&out.Memory))}
	}
	var parts, doubted []*forecast.Forecaster
	loading, loaded := false, false
	for i := range rows {
		if r := s.rows[rows[i].ID]; rows[i].ID.GPUUUID == out.UUID {
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
	full := whenFull(now, &out.Memory, parts...)
	if full == nil && len(doubted) > 0 {
		full = loads.believe(whenFull(now, &out.Memory, append(parts, doubted...)...))
	}
	if full == nil && !loaded {
		full = g.outlook.fullIn(&out.Memory)
	}
	path := s.sumOf(own, out, rows)
	if loading || len(path) == 0 {
		path = own // how far a load goes is unknown
	}
	return snapshot.Outlook{Predicted: path, FullIn: full}
}

// disturbed reports whether a large process has started or ended on the GPU
// lately, and the processes explain the GPU's memory: the use of each is known,
// their sum is nearly all, and none is a sawtooth, which the GPU's own forecaster
// knows better.
func (s *Sampler) disturbed(now time.Time, g *snapshot.GPU, rows []snapshot.Process) bool {
	matters := g.Memory.Capacity().Or(0) / 100
	fresh := false
	var explained quantity.Bytes
	for i := range rows {
		p := &rows[i]
		if p.ID.GPUUUID != g.UUID {
			continue
		}
		used, known := p.Used.Value()
		if !known || p.Trend == snapshot.TrendSawtooth {
			return false
		}
		explained += used
		r := s.rows[p.ID]
		fresh = fresh || r.load.loads() || r.load.later() || used >= matters && !r.came.IsZero() && now.Sub(r.came) < stepRemembered
	}
	for i := range s.ended {
		left := &s.ended[i]
		if now.Sub(left.Ended) >= stepRemembered {
			break // newest first
		}
		fresh = fresh || left.Last.ID.GPUUUID == g.UUID && left.Last.Peak.Or(0) >= matters
	}
	return fresh && explained >= g.Memory.Used.Or(0)*9/10
}

// sumOf is the summed forecast of a GPU's processes.
func (s *Sampler) sumOf(own []snapshot.Prediction, g *snapshot.GPU, rows []snapshot.Process) (path []snapshot.Prediction) {
	var spreads [4]float64 // squared, at one horizon
	longest := 0
	for i := range rows {
		if rows[i].ID.GPUUUID == g.UUID {
			longest = max(longest, len(rows[i].Predicted))
		}
	}
	for h := range longest {
		at := snapshot.Prediction{Median: g.Memory.Used.Or(0)}
		clear(spreads[:])
		var smallest [4]quantity.Bytes
		if h < len(own) {
			smallest = spreadOf(&own[h])
		}
		for i := range rows {
			p := &rows[i]
			if p.ID.GPUUUID != g.UUID || h >= len(p.Predicted) || s.rows[p.ID].load.loads() || s.rows[p.ID].load.later() {
				continue
			}
			predicted := &p.Predicted[h]
			at.Horizon = predicted.Horizon
			at.Median += predicted.Median - p.Used.Or(0)
			for j, off := range spreadOf(predicted) {
				spreads[j] += float64(off) * float64(off)
			}
		}
		if at.Horizon == 0 {
			break
		}
		off := func(j int) quantity.Bytes { return max(quantity.Bytes(math.Sqrt(spreads[j])), smallest[j]) }
		at.Median = max(at.Median, 0)
		at.Lower95, at.Lower80 = max(at.Median-off(0), 0), max(at.Median-off(1), 0)
		at.Upper80, at.Upper95 = at.Median+off(2), at.Median+off(3)
		path = append(path, at)
	}
	return path
}

// spreadOf is the distance of the ends of the intervals from the median.
func spreadOf(p *snapshot.Prediction) [4]quantity.Bytes {
	return [4]quantity.Bytes{p.Median - p.Lower95, p.Median - p.Lower80, p.Upper80 - p.Median, p.Upper95 - p.Median}
}
