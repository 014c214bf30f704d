package graph

import (
	"math"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// curves are the graph's values by column, in bytes; NaN is unknown.
type curves struct {
	history, least       []float64     // the maximum and, where an area is drawn, the minimum
	parts                stack         // empty if no area is drawn
	median, lower, upper []float64     // empty without a forecast
	capacity             float64       // NaN where not known
	ahead                time.Duration // the future part of the width
	any                  bool          // there is at least one sample
	zero                 bool          // the y axis begins at 0: the curve is compared with others
	full                 int           // the column in which the forecast reaches the capacity; 0: none
	when                 string        // the time of day at which memory will be full
}

func (g Graph) curves(columns int) curves {
	c := curves{capacity: math.NaN(), ahead: g.ahead, zero: g.Tile}
	if capacity, ok := g.Subject.Capacity.Value(); ok && capacity > 0 {
		c.capacity = float64(capacity)
	}
	// The curve's last point stands in the column of "now".
	now := columns - 1
	if c.ahead > 0 {
		now = int(math.Round(float64(columns-1) * float64(g.Window) / float64(g.Window+c.ahead)))
	}
	c.history = g.series(g.Subject.Key, now+1, most)
	if g.area() {
		c.least, c.parts = g.series(g.Subject.Key, now+1, least), g.stackOf(c.history, now+1)
	}
	c.any = known(c.history)
	c.history = append(c.history, slices.Repeat([]float64{math.NaN()}, columns-len(c.history))...)
	if c.ahead > 0 && len(g.Subject.Predicted) > 0 {
		subject := g.forecast(g.Window / time.Duration(now))
		c.forecast(subject.Used, subject.path(), now, columns)
		if in := subject.FullIn; in != nil && in.Median <= c.ahead {
			c.full = min(now+1+int(in.Median/(c.ahead/time.Duration(columns-1-now))), columns-1)
			c.when = g.At.Add(g.Subject.FullIn.Median).Format(time.TimeOnly)
		}
	}
	return c
}

// extreme is the maximum or the minimum of the samples of a column.
type extreme bool

const (
	most  extreme = false
	least extreme = true
)

// series returns an extreme of a series in the time of each column. While time runs, columns end at multiples of a
// column's time, so that the values of ended columns do not change; otherwise the last column ends at g.At.
func (g Graph) series(of snapshot.SeriesKey, columns int, e extreme) []float64 {
	values := slices.Repeat([]float64{math.NaN()}, columns)
	if g.History == nil || columns < 2 {
		return values
	}
	each := g.Window / time.Duration(columns-1)
	end := g.At
	if begun := end.Truncate(each); g.Running && begun.Before(end) {
		end = begun.Add(each)
	}
	points := g.History.Series(of, end.Add(-time.Duration(columns)*each), end, columns)
	for i := range min(len(points), columns) {
		switch p := &points[i]; {
		case p.Known && e == least:
			values[i] = max(float64(p.Min), 0)
		case p.Known:
			values[i] = max(float64(p.Max), 0)
		}
	}
	bridge(values, g.tolerance(each, 0), g.tolerance(each, end.Sub(g.At)))
	return values
}

// tolerance returns how many empty columns a pause of 2.5 intervals has, with toCome: the part of the last column that
// is in the future.
func (g Graph) tolerance(each, toCome time.Duration) int {
	apart := g.Interval
	if oldest := g.At.Add(-g.Window); g.Interval > 0 && g.History != nil {
		// Beyond the newest 3,600 samples the store keeps buckets of 15 s.
		if _, newest := g.History.Span(); newest.Sub(oldest) > 3600*g.Interval {
			apart = max(apart, 15*time.Second)
		}
	}
	return int((5*apart/2 + toCome) / max(each, 1))
}

// bridge fills these pauses with the value before the pause:
//   - of at most columns columns, or at the end of at most atEnd columns
//   - at most 1.5 times as long as each of the two pauses before, or after: the interval was longer then
//   - of one column, if another is empty nearby: samples are hardly further apart than columns
func bridge(values []float64, columns, atEnd int) {
	var known []int
	for i, v := range values {
		if !math.IsNaN(v) {
			known = append(known, i)
		}
	}
	if len(known) == 0 {
		return
	}
	pause := func(k int) int { // after the k-th known value
		if k < 0 || k+1 >= len(known) {
			return 0
		}
		return known[k+1] - known[k] - 1
	}
	fill := func(from, to int) {
		for j := from + 1; j < to; j++ {
			values[j] = values[from]
		}
	}
	nowAndThen := func(k int) bool { // whether another column nearby is empty
		const near = 8
		for d := 1; d <= near; d++ {
			if pause(k-d) > 0 || pause(k+d) > 0 {
				return true
			}
		}
		return false
	}
	for k := range len(known) - 1 {
		usual := max(min(pause(k-1), pause(k-2)), min(pause(k+1), pause(k+2)))
		if p := pause(k); p <= columns || p <= usual+(usual+1)/2 || p == 1 && nowAndThen(k) {
			fill(known[k], known[k+1])
		}
	}
	if last := known[len(known)-1]; len(values)-1-last <= atEnd {
		fill(last, len(values))
	}
}

// forecast fills the columns from now on, linearly between horizons, up to the capacity.
func (c *curves) forecast(from snapshot.Bytes, predicted []snapshot.Prediction, now, columns int) {
	unknown := slices.Repeat([]float64{math.NaN()}, columns)
	c.median, c.lower, c.upper = slices.Clone(unknown), slices.Clone(unknown), unknown
	used, _ := from.Value()
	each := float64(c.ahead) / float64(columns-1-now)
	for i := now; i < columns; i++ {
		distance := time.Duration(float64(i-now) * each)
		c.median[i] = c.limited(between(predicted, used, distance, func(p snapshot.Prediction) quantity.Bytes { return p.Median }))
		c.lower[i] = c.limited(between(predicted, used, distance, func(p snapshot.Prediction) quantity.Bytes { return p.Lower80 }))
		c.upper[i] = c.limited(between(predicted, used, distance, func(p snapshot.Prediction) quantity.Bytes { return p.Upper80 }))
	}
}

func (c *curves) limited(v float64) float64 {
	if !math.IsNaN(c.capacity) {
		v = min(v, c.capacity)
	}
	return max(v, 0)
}

// between returns a curve of the forecast at a distance, NaN past its last horizon.
func between(predicted []snapshot.Prediction, used quantity.Bytes, distance time.Duration, amount func(snapshot.Prediction) quantity.Bytes) float64 {
	before, from := time.Duration(0), float64(used)
	for _, p := range predicted {
		to := float64(amount(p))
		if distance <= p.Horizon && p.Horizon > before {
			return from + (to-from)*float64(distance-before)/float64(p.Horizon-before)
		}
		before, from = p.Horizon, to
	}
	return math.NaN()
}

// extremes returns the minimum of history and median, 0 for areas and tiles, and the maximum of history and forecast.
func (c *curves) extremes() (low, high float64) {
	if low = 0; len(c.parts) == 0 && !c.zero {
		low = lowest(append(slices.Clone(c.history), c.median...))
	}
	high = math.NaN()
	for _, series := range [...][]float64{c.history, c.median, c.upper} {
		for _, v := range series {
			if !math.IsNaN(v) && !(high >= v) {
				high = v
			}
		}
	}
	return low, high
}

// lowest returns the minimum of the known values, NaN if there are none.
func lowest(values []float64) float64 {
	low := math.NaN()
	for _, v := range values {
		if !math.IsNaN(v) && !(low <= v) {
			low = v
		}
	}
	return low
}
