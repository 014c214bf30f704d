package sampler

import (
	"math"
	"slices"
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// outlook is the forecast of a series. A forecaster is large and most series never move, so a
// forecaster is made only when its series first moves. Until then the forecast is no change.
type outlook struct {
	forecaster *forecast.Forecaster // nil: the series has not moved
	given      int                  // number of samples
	first      time.Time            // when the first sample was given
	figure     quantity.Bytes       // the last sample
	at         time.Time            // when the last sample was given
	still      time.Time            // the last tick after at with an equal figure, which was not given; zero: none
	gap        time.Time            // the last gap after at, while there is no forecaster; zero: none

	predicted []snapshot.Prediction
	trend     forecast.Trend
	growth    snapshot.Bytes // per second
}

// pace is the least time between two samples that an outlook takes: while the figure moves, and
// while it is still. More samples would not help, because the nearest horizon is ten seconds away.
type pace struct {
	moving, still time.Duration
}

// quickPace is the pace of rows on a box with few rows, and of GPUs and MIG instances.
var quickPace = pace{moving: 900 * time.Millisecond, still: 2700 * time.Millisecond}

func paceOf(series int) pace {
	const many = 256
	if series <= many {
		return quickPace
	}
	return pace{moving: 1900 * time.Millisecond, still: 5700 * time.Millisecond}
}

// observe takes a tick's figure, or a gap if the figure is unknown.
func (o *outlook) observe(now time.Time, figure snapshot.Bytes, p pace) {
	v, ok := figure.Value()
	if !ok {
		if o.forecaster != nil {
			o.forecaster.Gap(now)
		} else if !o.at.IsZero() {
			o.gap = now
		}
		o.still = time.Time{}
		return
	}
	if o.given <= forecast.MinSamples {
		p.moving, p.still = quickPace.moving, quickPace.moving
	}
	since := now.Sub(o.at)
	moved := v != o.figure
	switch {
	case since >= 0 && since < p.moving:
		return // the last forecast stands
	case since >= 0 && since < p.still && !moved:
		o.still = now
		return
	case moved && o.forecaster != nil && !o.still.IsZero():
		o.forecaster.Observe(o.still, int64(o.figure)) // the figure was still until then
	}
	o.learn(now, v)
	o.growth = snapshot.Bytes{}
	switch {
	case o.forecaster != nil:
		o.predicted, o.trend = predictions(o.forecaster), o.forecaster.Trend()
		if growth, ok := o.forecaster.GrowthPerSecond(); ok {
			o.growth = quantity.From(quantity.Bytes(growth), quantity.Forecast)
		}
	case o.given >= forecast.MinSamples && o.predicted == nil:
		o.predicted, o.trend = unmoved(v), forecast.Steady
	}
}

func (o *outlook) doubt() snapshot.Doubt {
	if o.given < forecast.MinSamples {
		return snapshot.Young
	}
	return snapshot.Believed
}

// learn takes a sample and makes no forecast.
func (o *outlook) learn(at time.Time, v quantity.Bytes) {
	switch {
	case o.given == 0:
		o.first = at
	case v != o.figure:
		o.move()
	}
	if o.forecaster != nil {
		o.forecaster.Observe(at, int64(v))
	}
	o.given++
	o.figure, o.at, o.still, o.gap = v, at, time.Time{}, time.Time{}
}

// remembered is how much of the time before the first move of a series is given to its new
// forecaster: twice the farthest horizon.
const remembered = 30 * time.Minute

// move makes the forecaster of a series when the series first moves.
func (o *outlook) move() {
	if o.forecaster != nil {
		return
	}
	o.forecaster = forecast.New()
	every := max(o.at.Sub(o.first)/time.Duration(max(o.given-1, 1)), time.Second/10)
	at := o.first
	if skipped := (o.at.Sub(at) - remembered) / every; skipped > 0 {
		at = at.Add(skipped * every)
	}
	for ; at.Before(o.at); at = at.Add(every) {
		o.forecaster.Observe(at, int64(o.figure))
	}
	o.forecaster.Observe(o.at, int64(o.figure))
	if !o.gap.IsZero() {
		o.forecaster.Gap(o.gap)
	}
	if !o.still.IsZero() {
		o.forecaster.Observe(o.still, int64(o.figure))
	}
}

// fullIn returns when the series will fill m, or nil.
func (o *outlook) fullIn(m *snapshot.Memory) *snapshot.FullIn {
	if o.forecaster == nil {
		return nil
	}
	return whenFull(o.at, m, o.forecaster)
}

// whenFull returns when several series together, with samples up to now, will fill a memory.
func whenFull(now time.Time, m *snapshot.Memory, series ...*forecast.Forecaster) *snapshot.FullIn {
	used, known := m.Used.Value()
	capacity, limited := m.Capacity().Value()
	if !known || !limited {
		return nil
	}
	full, ok := forecast.WhenFull(int64(capacity-used), series...)
	if !ok {
		return nil
	}
	return &snapshot.FullIn{Median: full.Median, Earliest: full.Earliest, Latest: full.Latest, Made: now}
}

// unmoved returns the forecast of a series that has never moved.
func unmoved(v quantity.Bytes) []snapshot.Prediction {
	out := make([]snapshot.Prediction, len(forecast.Horizons))
	for i, h := range forecast.Horizons {
		out[i] = snapshot.Prediction{Horizon: h, Median: v, Lower80: v, Upper80: v, Lower95: v, Upper95: v}
	}
	return out
}

func predictions(f *forecast.Forecaster) []snapshot.Prediction {
	var room [len(forecast.Horizons)]forecast.Interval
	at := f.Forecasts(room[:0])
	if len(at) == 0 {
		return nil
	}
	out := make([]snapshot.Prediction, len(at))
	for i, p := range at {
		out[i] = snapshot.Prediction{
			Horizon: p.Horizon, Median: quantity.Bytes(p.Median),
			Lower80: quantity.Bytes(p.Lower80), Upper80: quantity.Bytes(p.Upper80),
			Lower95: quantity.Bytes(p.Lower95), Upper95: quantity.Bytes(p.Upper95),
		}
	}
	return out
}

// mostLast is the number of ended processes whose last figures Warm reads.
const mostLast = 8

type warmSpan struct{ from, to, step time.Duration }

// warmSpans are six hours for the loads, and of these the last hour for the forecasters. One sample
// every ten seconds (the nearest horizon) is enough, except in the last five minutes, because a
// young process has no older samples.
var warmSpans = [...]warmSpan{
	{6 * time.Hour, time.Hour, loadWindow},
	{time.Hour, 5 * time.Minute, loadWindow},
	{5 * time.Minute, 0, time.Second},
}

// Warm feeds the last hour of an earlier history to the forecasters. It also takes over the
// processes that had ended in that history, and how long the rises of the programs lasted. Any
// goroutine may call Warm, once, after the first tick. Reading the history takes time.
func (s *Sampler) Warm(before snapshot.History) {
	latest := s.Latest()
	began, _ := s.History().Span()
	if latest == nil || began.IsZero() {
		return
	}
	earlier, ok := before.At(began)
	if !ok {
		return
	}
	for i := range earlier.Ended[:min(len(earlier.Ended), mostLast)] { // a recording has the figures of a process only while it ran
		e := &earlier.Ended[i]
		if last, ok := before.At(e.Ended.Add(-1)); ok {
			if p := last.Row(e.Last.ID); p != nil {
				peak := e.Last.Peak // a row in the middle of the recording has none
				e.Last = *p
				e.Last.Peak = peak
			}
		}
	}
	var learnt habits
	known, ended := slices.Clone(earlier.Rows), make(map[habit]bool)
	for i := range earlier.Ended { // the newest of each program
		if p := &earlier.Ended[i].Last; !ended[habitOf(p)] {
			ended[habitOf(p)] = true
			known = append(known, *p)
		}
	}
	rows, recent := make(map[snapshot.RowID]*row), began.Add(-warmSpans[1].from)
	for i := range known {
		p, spans := &known[i], warmSpans[:]
		if i < len(earlier.Rows) && learnt.lasted[habitOf(p)] != nil { // one row of each program is enough to learn its loads
			spans = warmSpans[1:]
		}
		r := &row{latest: p, load: load{like: learnt.longest(p)}}
		if p.Started.After(recent) {
			r.came = p.Started
		}
		warm(before, snapshot.SeriesKey{Metric: metric.Used, Row: p.ID}, began, spans, func(at time.Time, used snapshot.Bytes) {
			r.watchLoad(at, p.Started, used.Or(0), math.MaxInt64, 0)
			if at.After(recent) {
				r.outlook.learn(at, used.Or(0))
			}
		})
		warm(before, snapshot.SeriesKey{Metric: metric.Allocated, Row: p.ID}, began, warmSpans[1:], func(at time.Time, allocated snapshot.Bytes) {
			r.allocated.learn(at, allocated.Or(0))
		})
		rows[p.ID] = r
	}
	gpus := make(map[string]outlook)
	for i := range latest.GPUs {
		uuid, o := latest.GPUs[i].UUID, outlook{}
		warm(before, snapshot.SeriesKey{Metric: metric.Used, GPUUUID: uuid}, began, warmSpans[1:], func(at time.Time, used snapshot.Bytes) {
			o.learn(at, used.Or(0))
		})
		if o.given > 0 {
			gpus[uuid] = o
		}
	}
	s.doWithin(warmTimeout, func() {
		s.ended = append(slices.Clip(s.ended), earlier.Ended...) // the next tick drops those that have come back
		for id, warmed := range rows {
			like := s.habits.longest(warmed.latest)
			*like = max(*like, *warmed.load.like)
			if r := s.rows[id]; r != nil && warmed.outlook.given > 0 {
				warmed.load.like = like
				r.outlook, r.allocated, r.load, r.came = warmed.outlook, warmed.allocated, warmed.load, warmed.came
			}
		}
		for uuid, warmed := range gpus {
			if g := s.driver.find(uuid); g != nil {
				g.expected.outlook = warmed
			}
		}
	})
}

// warm calls visit with each known sample of a series in the spans before to.
func warm(before snapshot.History, key snapshot.SeriesKey, to time.Time, spans []warmSpan, visit func(time.Time, snapshot.Bytes)) {
	for _, span := range spans {
		// A sample at to belongs to the live history.
		for _, p := range before.Series(key, to.Add(-span.from), to.Add(-span.to-1), int((span.from-span.to)/span.step)) {
			if p.Known {
				visit(p.Time, quantity.From(quantity.Bytes(p.Last), quantity.Driver))
			}
		}
	}
}
