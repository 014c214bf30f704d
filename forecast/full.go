package forecast

import "time"

// FullIn is when a GPU will be full: the median, and an 80 % interval.
// Earliest ≤ Median ≤ Latest; a zero Latest means "perhaps never".
type FullIn struct {
	Median, Earliest, Latest time.Duration
}

// fewCycles of a sawtooth must have passed before peaks are extrapolated.
const fewCycles = 4

// FullIn is when the series will have grown by free bytes: the first time at which
// the median path reaches that and stays there up to the last horizon. A passing
// peak does not count, but the peaks of a rising sawtooth do. Earliest is the same
// for the upper 80 % bound, Latest for the lower one, later by the usual time
// between samples. FullIn is false for too few samples, beyond the last horizon, and
// for a time longer than the past: a rise lasts as long again at even odds.
func (f *Forecaster) FullIn(free int64) (FullIn, bool) {
	s := &f.state
	if s.Count < MinSamples || s.Now < fewCycles*s.Sawtooth.period(s.Now, s.Step) {
		return FullIn{}, false
	}
	room := float64(max(free, 0))
	median, ok := s.crossing(room, func(o *outlook) float64 { return o.Change + o.Crest })
	if !ok || median > time.Duration(s.Now) {
		return FullIn{}, false
	}
	earliest, _ := s.crossing(room, func(o *outlook) float64 { return o.Change + max(o.Crest, o.Spread.Upper80) })
	latest, certain := s.crossing(room, func(o *outlook) float64 { return o.Change + o.Crest + o.Spread.Lower80 })
	if certain {
		latest += time.Duration(s.Step * 1e9)
	}
	return FullIn{Median: median, Earliest: earliest, Latest: latest}, true
}

// crossing is when the path, linear between the horizons, rises above room for good.
func (s *state) crossing(room float64, path func(*outlook) float64) (time.Duration, bool) {
	last := len(Horizons) - 1
	above := path(&s.Outlook[last])
	if above < room || above <= 0 {
		return 0, false
	}
	for i := last; i >= 0; i-- {
		var below float64
		var start time.Duration
		if i > 0 {
			below, start = path(&s.Outlook[i-1]), Horizons[i-1]
		}
		if below < room {
			share := (room - below) / (above - below)
			return start + time.Duration(share*float64(Horizons[i]-start)), true
		}
		above = below
	}
	return 0, true
}
