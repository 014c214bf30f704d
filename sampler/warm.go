package sampler

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// What forecasters are warmed with: most of what they learn is younger than an hour,
// and a sample each ten seconds, the nearest horizon, is enough to learn it from. Of
// a process that began minutes ago every second counts.
var warmSpans = [...]struct{ from, to, step time.Duration }{
	{time.Hour, 5 * time.Minute, 10 * time.Second},
	{5 * time.Minute, 0, time.Second},
}

// Warm gives the forecasters what an earlier history has of the last hour, as if
// the sampler had seen it. It may be called once, after the first tick, by any
// goroutine: it reads the history, which takes time, and then waits for the one
// that ticks.
func (s *Sampler) Warm(before snapshot.History) {
	latest := s.Latest()
	began, _ := s.History().Span()
	if latest == nil || began.IsZero() {
		return
	}
	rows := make(map[snapshot.RowID]*row)
	for i := range latest.Rows {
		p := &latest.Rows[i]
		r := &row{}
		if p.Started.After(began.Add(-warmSpans[0].from)) {
			r.came = p.Started
		}
		warm(before, snapshot.SeriesKey{Metric: metric.Used, Row: p.ID}, began, func(at time.Time, used snapshot.Bytes) {
			r.watchLoad(at, p.Started, used.Or(0))
			r.outlook.learn(at, used.Or(0))
		})
		warm(before, snapshot.SeriesKey{Metric: metric.Allocated, Row: p.ID}, began, func(at time.Time, allocated snapshot.Bytes) {
			r.allocated.learn(at, allocated.Or(0))
		})
		if r.outlook.given > 0 {
			rows[p.ID] = r
		}
	}
	gpus := make(map[string]outlook)
	for i := range latest.GPUs {
		uuid, o := latest.GPUs[i].UUID, outlook{}
		warm(before, snapshot.SeriesKey{Metric: metric.Used, GPUUUID: uuid}, began, func(at time.Time, used snapshot.Bytes) {
			o.learn(at, used.Or(0))
		})
		if o.given > 0 {
			gpus[uuid] = o
		}
	}
	s.do(func() {
		for id, warmed := range rows {
			if r := s.rows[id]; r != nil {
				r.outlook, r.allocated, r.load, r.came = warmed.outlook, warmed.allocated, warmed.load, warmed.came
			}
		}
		for uuid, warmed := range gpus {
			if g := s.driver.find(uuid); g != nil {
				g.outlook = warmed
			}
		}
	})
}

// warm visits the last hour of a series up to a moment.
func warm(before snapshot.History, key snapshot.SeriesKey, to time.Time, visit func(time.Time, snapshot.Bytes)) {
	for _, span := range warmSpans {
		// The moment itself is the live history's.
		for _, p := range before.Series(key, to.Add(-span.from), to.Add(-span.to-1), int((span.from-span.to)/span.step)) {
			if p.Known {
				visit(p.Time, quantity.From(quantity.Bytes(p.Last), quantity.Driver))
			}
		}
	}
}
