package graph

import (
	"math"
	"slices"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// stack is the parts of used memory by column, in bytes. Memory without a probe is unknown.
type stack []column

type column [5]float64

// The parts, in the order of a bar.
const (
	partOther = iota
	partUnknown
	partAllocated
	partFragmented
	partCached
)

// Stacks keeps a drawn graph for all frames of one snapshot, and its forecast for at most longestForecast.
type Stacks struct {
	frame frameKey
	lines []string

	ahead forecastKey
	from  Subject // the subject with the forecast that is drawn

	bySeries map[snapshot.SeriesKey]*Stacks // small graphs, drawn side by side
}

// Of returns what is kept for the small graph of a series.
func (s *Stacks) Of(key snapshot.SeriesKey) *Stacks {
	if s.bySeries == nil {
		s.bySeries = make(map[snapshot.SeriesKey]*Stacks)
	}
	if s.bySeries[key] == nil {
		s.bySeries[key] = &Stacks{}
	}
	return s.bySeries[key]
}

// forecastKey identifies a drawn forecast, which is kept for the time of a column, but at most for longestForecast. If
// a newer forecast disagrees on whether the memory will be full, the newer one is drawn.
type forecastKey struct {
	series snapshot.SeriesKey
	column time.Time
	fills  bool
}

const longestForecast = 5 * time.Second

// forecast returns the subject with the forecast to draw; each is the time of a column.
func (g Graph) forecast(each time.Duration) Subject {
	if g.Stacks == nil || !g.Running {
		return g.Subject
	}
	if key := (forecastKey{g.Subject.Key, g.At.Truncate(min(each, longestForecast)), g.Subject.FullIn != nil}); g.Stacks.ahead != key {
		g.Stacks.ahead, g.Stacks.from = key, g.Subject
	}
	return g.Stacks.from
}

// frameKey is what a drawn graph depends on while time runs.
type frameKey struct {
	look          *cell.Appearance
	of            *snapshot.Snapshot
	series        snapshot.SeriesKey
	window        time.Duration
	width, height int
	curvesAlone   bool
}

// stackOf reads the parts of the subject's rows. Their sum in a column is the used memory there.
func (g Graph) stackOf(used []float64, columns int) stack {
	s := make(stack, len(used))
	for i, v := range used {
		if !math.IsNaN(v) {
			s[i][partUnknown] = v
		}
	}
	if g.History == nil {
		return s
	}
	for _, id := range g.Subject.Rows {
		row := func(m metric.ID) []float64 {
			return g.series(snapshot.SeriesKey{Metric: m, GPUUUID: id.GPUUUID, Instance: id.Instance, Row: id}, columns, most)
		}
		allocated := row(metric.Allocated)
		if !known(allocated) {
			continue
		}
		held, cached := row(metric.Used), row(metric.Cached)
		fragmented, returnable := row(metric.Fragmented), row(metric.Returnable)
		for i := range columns {
			if math.IsNaN(allocated[i]) || math.IsNaN(held[i]) {
				continue
			}
			s[i].add(held[i], allocated[i], or0(cached[i]), or0(fragmented[i]), returnable[i])
		}
	}
	for i := range s {
		s[i].fit(used[i])
	}
	return s
}

// add moves memory of a row from unknown to its parts, as far as these are known; see snapshot.Process.Kept.
func (p *column) add(held, allocated, cached, fragmented, returnable float64) {
	if math.IsNaN(returnable) {
		returnable = cached
	}
	fragmented += max(cached-returnable, 0)
	allocated = max(allocated-max(returnable-cached, 0), 0)
	p[partAllocated] += allocated
	p[partFragmented] += fragmented
	p[partCached] += returnable
	p[partOther] += max(held-allocated-fragmented-returnable, 0)
	p[partUnknown] -= held
}

// fit makes the parts add up to the used memory: readings of different moments may not.
func (p *column) fit(used float64) {
	if math.IsNaN(used) {
		*p = column{}
		return
	}
	p[partUnknown] = max(p[partUnknown], 0)
	if sum := p.sum(); sum > used && sum > 0 {
		for i := range p {
			p[i] *= used / sum
		}
	} else {
		p[partUnknown] += used - sum
	}
}

func (p *column) sum() (sum float64) {
	for _, v := range p {
		sum += v
	}
	return sum
}

func known(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
}

func or0(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
