package forecast

import (
	"math"
	"time"
)

// FullIn is when a GPU will be full: the median, and an 80 % interval.
// Earliest ≤ Median ≤ Latest; a zero Latest means "perhaps never".
type FullIn struct {
	Median, Earliest, Latest time.Duration
}

const (
	// leastPast of a series, or of the job in it, must be known before it is said to fill.
	leastPast = time.Minute

	// fewCycles of a sawtooth must have passed before peaks are extrapolated.
	fewCycles = 4
)

// FullIn is when the series will have grown by free bytes.
func (f *Forecaster) FullIn(free int64) (FullIn, bool) { return WhenFull(free, f) }

// WhenFull is when several series together will have grown by free bytes: the first
// time at which the median path is there and still is at the next horizon. A passing
// peak does not count, but the peaks of a rising sawtooth do, and so does a new course
// before the experts follow it. Earliest is the same for the upper 80 % bound, Latest
// for the lower one, later by the usual time between samples; errors of several series
// count as independent. WhenFull is false beyond the last horizon, where no series is
// known for long enough (one that is not counts as constant), and for a time longer
// than the past, but for a new course: a rise of unknown age lasts as long again at
// even odds.
func WhenFull(free int64, series ...*Forecaster) (FullIn, bool) {
	var median, above, below path
	step, known := 0.0, time.Duration(0)
	for _, f := range series {
		s := &f.state
		if s.Count < MinSamples || s.Now-s.Began < int64(leastPast) || s.Now < fewCycles*s.Sawtooth.period(s.Now, s.Step) {
			continue
		}
		step, known = max(step, s.Step), max(known, time.Duration(s.Now-s.Began))
		if s.Course > 0 {
			known = Horizons[len(Horizons)-1]
		}
		for i, h := range Horizons {
			o := &s.Outlook[i]
			rise := max(o.sure()+o.Crest, s.Course*h.Seconds())
			up, down := max(o.Change+o.Spread.Upper80-rise, 0), rise-o.Crest-o.Change-o.Spread.Lower80
			median[i] += rise
			above[i] += up * up
			below[i] += down * down
		}
	}
	for i := range median {
		above[i], below[i] = median[i]+math.Sqrt(above[i]), median[i]-math.Sqrt(below[i])
	}
	room := float64(max(free, 0))
	at, ok := median.crosses(room)
	if !ok || at > known {
		return FullIn{}, false
	}
	earliest, _ := above.crosses(room)
	latest, certain := below.crosses(room)
	if certain {
		latest += time.Duration(step * 1e9)
	}
	return FullIn{Median: at, Earliest: earliest, Latest: latest}, true
}

// path is the growth at each horizon, and linear between them.
type path [len(Horizons)]float64

// crosses is when the path rises above room.
func (p *path) crosses(room float64) (time.Duration, bool) {
	var before float64
	var start time.Duration
	for i, h := range Horizons {
		if now := p[i]; now >= room && now > 0 && p[min(i+1, len(p)-1)] >= room {
			share := max(room-before, 0) / (now - before)
			return start + time.Duration(share*float64(h-start)), true
		}
		before, start = p[i], h
	}
	return 0, false
}
