package forecast

import "time"

// FullIn is when a GPU will be full: the median, and an 80 % interval.
// Earliest ≤ Median ≤ Latest; a zero Latest means "perhaps never".
type FullIn struct {
	Median, Earliest, Latest time.Duration
}

// fewTeeth is how many teeth must have gone by before their peaks are drawn
// into the future: two or three make any line.
const fewCycles = 4

// FullIn is when the series will have grown by free bytes: the first time at
// which the median path reaches that and stays there up to the last horizon.
// A passing peak is not the end; sawtooth memory close to the limit would
// otherwise announce it with every tooth. Earliest is the same for the path of
// the upper 80 % bound, Latest for the lower one's. Of teeth it is the peaks
// that count. A sample may see it as late as the usual distance of samples
// allows: Latest is later by that, if need be than the last horizon. Free below zero counts as zero. false: not
// within the last horizon, or further ahead than the series has been watched,
// which is how long a rise lasts at even odds; or nothing can be said.
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

// crossing is from when on the path, straight between the horizons, is above
// room.
func (s *state) crossing(room float64, path func(*outlook) float64) (time.Duration, bool) {
	last := len(Horizons) - 1
	above := path(&s.Outlook[last])
	if above < room || above <= 0 {
		return 0, false
	}
	for i := last; ; i-- {
		var below float64
		var start time.Duration
		if i > 0 {
			below, start = path(&s.Outlook[i-1]), Horizons[i-1]
		}
		if below < room {
			share := (room - below) / (above - below)
			return start + time.Duration(share*float64(Horizons[i]-start)), true
		}
		if i == 0 {
			return 0, true
		}
		above = below
	}
}
