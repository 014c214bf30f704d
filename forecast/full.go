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

// FullIn is when the series will have grown by free bytes.
func (f *Forecaster) FullIn(free int64) (FullIn, bool) { return WhenFull(free, f) }

// WhenFull is when several series together will have grown by free bytes: the first
// time at which the median path is there and still is at the next horizon. A passing
// peak does not count, but the peaks of a rising sawtooth do, and so does a new course
// before the experts follow it. A rise that only the last seconds show counts once it
// has lasted for as long as a server takes its KV cache. Earliest is the same for a
// path that is higher by the upper half of the 80 % interval, Latest for the lower
// bound of the experts' forecast alone, later by the usual time between samples;
// errors of several series count as independent. WhenFull is false beyond the last
// horizon, where no series is known for long enough (one that is not counts as
// constant), and for a time longer than the past, but for a new course: a rise of
// unknown age lasts as long again at even odds.
func WhenFull(free int64, series ...*Forecaster) (FullIn, bool) {
	var median, above, below path
	step, known := 0.0, int64(0)
	for _, f := range series {
		s := &f.state
		age := s.Now - s.Began
		if s.Count < MinSamples || age < leastPast || s.Seasons.Size < fewCycles && s.Seasons.swings(s.Now) {
			continue
		}
		if s.Course.Announced {
			age = math.MaxInt64
		}
		step, known = max(step, s.Step), max(known, age)
		for i, o := range s.Outlook {
			up, down := o.Spread.Upper80, o.Rise-o.Change-o.Spread.Lower80
			median[i] += o.Rise
			above[i] += up * up
			below[i] += down * down
		}
	}
	for i := range median {
		above[i], below[i] = median[i]+math.Sqrt(above[i]), median[i]-math.Sqrt(below[i])
	}
	room := float64(max(free, 0))
	at, ok := median.crosses(room)
	if !ok || int64(at) > known {
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
