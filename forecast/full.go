package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// FullIn is when a GPU will be full: the median, and an 80 % interval. Earliest ≤ Median ≤ Latest.
type FullIn struct {
	Median, Earliest, Latest time.Duration
}

// FullIn returns when the series will have grown by free bytes.
func (f *Forecaster) FullIn(free int64) (FullIn, bool) { return WhenFull(free, f) }

// WhenFull predicts when several series together will have grown by free bytes: when the median path
// reaches that growth, if it is still there at the next horizon. A passing peak does not count, but
// the peaks of a rising sawtooth do, and so does a new course before the experts follow it. A rise
// that only the last seconds show counts once it has lasted (course.Sure). The interval comes from the
// errors with which the series reached other levels (arrivals.go). WhenFull returns false:
//   - beyond the last horizon;
//   - if no series is known for long enough (one that is not counts as constant);
//   - for a time longer than the past of the series that grows most, or than twice the age of a
//     new course: a rise of unknown age lasts as long again at even odds;
//   - for a course that would fill the memory as fast as a server allocates its KV cache.
func WhenFull(free int64, series ...*Forecaster) (in FullIn, ok bool) {
	in, ok = whenFull(free, true, series)
	if !ok && slices.ContainsFunc(series, func(f *Forecaster) bool { return f.state.Course.Lifted }) {
		return whenFull(free, false, series) // without lifted courses there may still be a forecast
	}
	return in, ok
}

func whenFull(free int64, lifted bool, series []*Forecaster) (FullIn, bool) {
	var rise path
	var step, early, late, largest float64
	known := int64(0)
	for _, f := range series {
		if s := &f.state; s.expected() {
			step = max(step, s.Step)
			for i := range rise {
				rise[i] += s.rise(i, lifted)
			}
		}
	}
	at, ok := rise.crosses(float64(max(free, 0)))
	if !ok {
		return FullIn{}, false
	}
	next, _ := slices.BinarySearch(Horizons[:], at)
	for _, f := range series {
		if s := &f.state; s.expected() {
			c, ahead, age := &s.Course, Horizons[next].Seconds(), s.Now-s.Began
			if (c.Announced || lifted && c.Lifted) && s.Now-c.Since+int64(at) < minRamp {
				return FullIn{}, false
			}
			if c.leads(ahead, s.Now, lifted) && s.Outlook[next].Rise <= c.rise(ahead) {
				age = until * (s.Now - c.Since)
			}
			share := s.rise(next, lifted) / rise[next]
			if share > largest {
				known, largest = age, share
			}
			sooner, later := s.punctuality(at.Minutes())
			early, late = math.Hypot(early, share*sooner), math.Hypot(late, share*later)
		}
	}
	return FullIn{
		Median: at, Earliest: time.Duration(max(float64(at)-early*60e9, 0)),
		Latest: time.Duration(float64(at) + late*60e9 + level*step*1e9),
	}, int64(at) <= known
}

// Bound sets the most bytes by which the series can still grow. It limits WhenFull from now on; 0
// is unknown.
func (f *Forecaster) Bound(room int64) { f.state.Room = float32(room) }

func (s *state) rise(at int, lifted bool) float64 {
	rise, h := s.Outlook[at].Rise, Horizons[at].Seconds()
	if s.Course.leads(h, s.Now, lifted) {
		rise = max(rise, s.Course.rise(h))
	}
	return min(rise, cmp.Or(float64(s.Room), math.Inf(1)))
}

// expected reports whether the series is known long enough to expect growth.
func (s *state) expected() bool {
	return s.Count >= MinSamples && s.Now-s.Began >= minPast && (s.Seasons.Size == peakCap || !s.Seasons.swings(s.Now))
}

// path is the growth at each horizon, and linear between them.
type path [len(Horizons)]float64

// crosses returns when the path reaches room, if it is still there at the next horizon.
func (p *path) crosses(room float64) (time.Duration, bool) {
	before, start := 0.0, time.Duration(0)
	for i, h := range Horizons {
		if now := p[i]; now >= room && now > 0 && p[min(i+1, len(p)-1)] >= room {
			share := max(room-before, 0) / (now - before)
			return start + time.Duration(share*float64(h-start)), true
		}
		before, start = p[i], h
	}
	return 0, false
}
