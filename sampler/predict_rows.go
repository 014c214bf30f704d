package sampler

import (
	"math"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A GPU that processes come to and go from moves in steps that say nothing of
// how it goes on, and a forecaster that sees nothing but their sum takes them
// for growth for as long as it remembers them: a leak beside which an evaluation
// starts was told a quarter too early for six minutes, and then a third too
// late. So as long as such a step is fresh the GPU is forecast from the bottom
// up (Hyndman & Athanasopoulos, FPP3, section 11.2): what its processes are
// expected to grow by is added up, where one that is young or still loading is
// expected to stay as it is. Their errors are taken for independent.

// stepRemembered is how long a step counts as fresh: two half-lives of what the
// farthest horizon has learnt.
const stepRemembered = 45 * time.Minute

// fullIn is when a GPU will be full: by its own forecaster, or by its processes'
// where those know better.
func (s *Sampler) fullIn(now time.Time, g *gpu, out *snapshot.GPU, rows []snapshot.Process) *snapshot.FullIn {
	loading := false
	if s.disturbed(now, out, rows) {
		var path []pathPoint
		path, loading = s.growthOf(now, out.UUID, rows)
		if full := fullOn(path, &out.Memory); full != nil {
			return full
		}
	}
	if loading {
		return nil // how far a load goes nobody knows, and it is no alarm
	}
	return g.outlook.fullIn(&out.Memory)
}

// disturbed reports whether a process that matters has come to the GPU or gone
// from it lately, and the processes that are there tell what the GPU does: the
// driver tells what they use, which is nearly all, and none goes up and down, of
// which the GPU's own forecaster knows more.
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
		came := s.rows[p.ID].came
		fresh = fresh || used >= matters && !came.IsZero() && now.Sub(came) < stepRemembered
	}
	for i := range s.gone {
		left := &s.gone[i]
		if now.Sub(left.Ended) >= stepRemembered {
			break // the newest come first
		}
		fresh = fresh || left.Last.ID.GPUUUID == g.UUID && left.Last.Peak.Or(0) >= matters
	}
	return fresh && explained >= g.Memory.Used.Or(0)*9/10
}

// growth is by how much a GPU is expected to grow until a horizon, with the ends
// of an 80 % interval.
type growth struct{ median, lower, upper float64 }

// fullOn is when the path will have taken what is free.
func fullOn(path []pathPoint, m *snapshot.Memory) *snapshot.FullIn {
	used, known := m.Used.Value()
	capacity, limited := m.Capacity().Value()
	if !known || !limited {
		return nil
	}
	room := float64(max(capacity-used, 0))
	median, ok := reaches(path, room, func(e *growth) float64 { return e.median })
	if !ok {
		return nil
	}
	earliest, _ := reaches(path, room, func(e *growth) float64 { return e.upper })
	latest, _ := reaches(path, room, func(e *growth) float64 { return e.lower })
	return &snapshot.FullIn{Median: median, Earliest: min(earliest, median), Latest: latest}
}

// pathPoint is growth at a horizon.
type pathPoint struct {
	horizon time.Duration
	growth
}

// growthOf adds up what the processes of a GPU are expected to grow by, and
// says whether some of them load what they need, or have just done so.
func (s *Sampler) growthOf(now time.Time, uuid string, rows []snapshot.Process) (path []pathPoint, loading bool) {
	for i := range rows {
		p := &rows[i]
		if p.ID.GPUUUID != uuid {
			continue
		}
		l := &s.rows[p.ID].load
		loading = loading || l.fresh(now)
		if l.running || len(p.Predicted) == 0 {
			continue
		}
		if path == nil {
			path = make([]pathPoint, len(p.Predicted))
		}
		used := p.Used.Or(0)
		for j := range min(len(path), len(p.Predicted)) {
			at, to := &p.Predicted[j], &path[j]
			to.horizon = at.Horizon
			to.median += float64(at.Median - used)
			to.lower += square(at.Median - at.Lower80)
			to.upper += square(at.Upper80 - at.Median)
		}
	}
	for i := range path {
		e := &path[i]
		e.lower, e.upper = e.median-math.Sqrt(e.lower), e.median+math.Sqrt(e.upper)
	}
	return path, loading
}

func square(b quantity.Bytes) float64 { return float64(b) * float64(b) }

// reaches is from when on the path, straight from now to its first point and
// between its points, is above room up to its end.
func reaches(path []pathPoint, room float64, of func(*growth) float64) (time.Duration, bool) {
	if len(path) == 0 || of(&path[len(path)-1].growth) < room {
		return 0, false
	}
	for i := len(path) - 1; ; i-- {
		var from pathPoint // now
		below := 0.0
		if i > 0 {
			from = path[i-1]
			below = of(&from.growth)
		}
		if below < room {
			above := of(&path[i].growth)
			share := (room - below) / (above - below)
			return from.horizon + time.Duration(share*float64(path[i].horizon-from.horizon)), true
		}
		if i == 0 {
			return 0, true
		}
	}
}
