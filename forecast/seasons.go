package forecast

import (
	"math"
	"sort"
)

// seasons remembers the past in bins, and its peaks: the ends of rises, where the series falls or
// stays. So a staircase has peaks too, each higher than the last.
type seasons struct {
	Bin            int64 // the length of a bin, ns; 0: not known yet
	Newest, Oldest int64 // bins, counted from the epoch

	Up            bool          // the series rises
	Size, Rising  uint16        // how many peaks there are, and how many of the last are each above the one before
	Base          float64       // from where it rises, bytes
	Rose          int64         // when the rise was seen, ns
	Grew, Extreme peak          // the last notable growth, and the extreme of the present rise or fall
	Peaks         [peakCap]peak // newest first

	Lowest, Clarity float64          // the lowest level of the last whole cycle, bytes, and how far the cycle stands out above chance
	Period          int64            // the average length of a cycle, ns; 0: cycles are too few, too uneven, or no larger than chance makes them
	Bins            [pastCap]float32 // a ring over time, bytes
}

// peak is where a rise ended.
type peak struct {
	At     int64   // ns
	Height float64 // bytes
}

// observe takes the next sample. Bins are as long as the time between samples when the job begins,
// at least a second. A bin without a sample has the earlier value.
func (s *seasons) observe(now int64, y, step float64) {
	if s.Bin == 0 {
		s.Bin = int64(max(step, 1) * 1e9)
		s.Newest, s.Oldest, s.Extreme = now/s.Bin, now/s.Bin, peak{now, y}
	}
	bin := now / s.Bin
	before, oldest := s.Bins[s.Newest%pastCap], bin-pastCap+1
	for b := max(s.Newest+1, oldest); b < bin; b++ {
		s.Bins[b%pastCap] = before
	}
	s.Newest, s.Oldest = bin, max(s.Oldest, oldest)
	s.Bins[bin%pastCap] = float32(y)

	enough := max(notable*max(y, s.Extreme.Height), minChange)
	fell := s.Extreme.Height - y
	switch {
	case y-s.Base > further*(s.Grew.Height-s.Base):
		s.Grew = peak{now, y}
	case s.Up && fell <= enough && now-s.Grew.At > max(rest*s.Bin, until*(s.Grew.At-s.Rose)): // the rise was a step
		s.Extreme.At, fell = s.Grew.At, enough+1
	}
	switch {
	case s.Up && fell < 0, !s.Up && fell > 0:
		s.Extreme = peak{now, y}
	case s.Up && fell > enough:
		s.peaked(s.Extreme)
		s.Up, s.Extreme = false, peak{now, y}
	case !s.Up && fell < -enough:
		s.Base, s.Rose, s.Grew = s.Extreme.Height, now, peak{now, y}
		s.Up, s.Extreme = true, s.Grew
	}
}

// peaked records a peak, and measures the cycle that it ends. In n steps a random walk gets about
// √n steps far; a sawtooth gets further, because its steps have one direction.
func (s *seasons) peaked(p peak) {
	since := func(i int) float64 { return float64(p.At - s.Peaks[i].At) }
	if since(0) < plateau*(since(1)-since(0)) && (s.Size < 2 || since(1) < uneven*(since(2)-since(1))) {
		copy(s.Peaks[:], s.Peaks[1:]) // a rise in two steps has one peak
		s.Size, s.Rising = s.Size-1, max(s.Rising, 1)-1
	}
	s.Lowest = p.Height
	way, n, before := 0.0, 0.0, p.Height
	for bin := min(p.At/s.Bin, s.Newest); bin > max(s.Peaks[0].At/s.Bin, s.Oldest-1); bin-- {
		y := float64(s.Bins[bin%pastCap])
		s.Lowest = min(s.Lowest, y)
		way += math.Abs(y - before)
		before, n = y, n+1
	}
	s.Clarity = (p.Height - s.Lowest) * math.Sqrt(n) / max(way, 1)
	copy(s.Peaks[1:], s.Peaks[:])
	s.Size, s.Rising = min(s.Size+1, peakCap), min(s.Rising, pastCap)+1
	if p.Height <= s.Peaks[1].Height {
		s.Rising = 1
	}
	s.Peaks[0], s.Period = p, 0
	cycles := int(s.Size) - 1
	if cycles < 1 || s.Clarity < clarity || cycles == 1 && !s.fell() {
		return
	}
	shortest, longest := int64(math.MaxInt64), int64(0)
	for i := range cycles {
		length := s.Peaks[i].At - s.Peaks[i+1].At
		shortest, longest = min(shortest, length), max(longest, length)
	}
	if float64(longest) <= uneven*float64(shortest) {
		s.Period = (p.At - s.Peaks[cycles].At) / int64(cycles)
	}
}

// period returns the period, or 0 if the next peak is long overdue.
func (s *seasons) period(now int64) int64 {
	if float64(now-s.Peaks[0].At) > uneven*float64(s.Period) {
		return 0
	}
	return s.Period
}

// swings reports whether the series goes up and down again and again.
func (s *seasons) swings(now int64) bool {
	return s.Size > 2 && s.fell() && s.period(now) > 0
}

// fell reports whether the last cycle fell below the peak before it. In a staircase it does not.
func (s *seasons) fell() bool {
	before := s.Peaks[1].Height
	return before-s.Lowest > max(notable*before, slack*(s.Peaks[0].Height-s.Lowest))
}

func (s *seasons) at(t int64) float64 {
	return float64(s.Bins[min(max((t+s.Bin/2)/s.Bin, s.Oldest), s.Newest)%pastCap])
}

// seasonalPhase places the present cycle of a sawtooth in the last one. A phase is in seconds since
// the previous peak.
type seasonalPhase struct {
	seasons *seasons

	length, last float64 // of a cycle on average, and of the last one
	phase, place float64 // time since the last peak, and the phase of the last cycle that matches it
	pace, whole  float64 // of the present cycle: speed relative to the last, and expected length
	growth       float64 // from one peak to the next, bytes
}

// phase returns the seasonal phase now. Without a period it has no length. The present cycle is
// placed where the last one had the same height, if it rose or fell evenly there; otherwise where
// it had the same age. A cycle that is ahead of the last one runs faster, and ends sooner.
func (s *seasons) phase(now int64, y float64) seasonalPhase {
	period := s.period(now)
	if period == 0 {
		return seasonalPhase{}
	}
	n := int(s.Size) - 1
	r := seasonalPhase{
		seasons: s, length: float64(period) / 1e9,
		phase: float64(now-s.Peaks[0].At) / 1e9, last: float64(s.Peaks[0].At-s.Peaks[1].At) / 1e9,
		growth: (s.Peaks[0].Height - s.Peaks[n].Height) / float64(n),
	}
	bin := float64(s.Bin) / 1e9
	r.place, r.pace, r.whole = r.phase, 1, max(r.length, r.phase+bin)
	low, high := r.phase/uneven, min(r.phase*uneven, r.last)
	from, to := r.at(low), r.at(high)
	halfway := (r.at((low+high)/2) - from) / (to - from)
	if high > low && s.fell() && math.Abs(to-from) > slack*(r.seasons.Peaks[0].Height-r.seasons.Lowest) && halfway > plateau && halfway < 1-plateau {
		passed := func(i int) bool { return (r.at(low+float64(i)*bin) >= y-r.growth) == (to > from) }
		r.place = low + float64(2*sort.Search(int((high-low)/bin), passed)-1)*bin/2
		r.pace = (r.place + slack*r.last) / (r.phase + slack*r.last)
		r.whole = r.phase + max((r.last-r.place)/r.pace, bin)
	}
	return r
}

// at returns the value of the last cycle at a phase.
func (r *seasonalPhase) at(phase float64) float64 {
	return r.seasons.at(r.seasons.Peaks[1].At + int64(min(phase, r.last)*1e9))
}

// ahead returns the phase that the last cycle reaches in the given seconds, and the peaks passed.
func (r *seasonalPhase) ahead(seconds float64) (phase, peaks float64) {
	rest := r.phase + seconds - r.whole
	if rest < 0 {
		return r.place + seconds*r.pace, 0
	}
	peaks = 1 + math.Floor(rest/r.length)
	return (rest - (peaks-1)*r.length) * r.last / r.length, peaks
}

// claim returns the predicted change of the series. The present cycle continues as the last one did
// from this phase. Later cycles repeat the last one, each higher by the growth.
func (r *seasonalPhase) claim(seconds, last float64) float64 {
	if r.length == 0 || r.seasons.Peaks[1].At < r.seasons.Oldest*r.seasons.Bin {
		return 0 // no cycle, or one too long to be remembered
	}
	phase, peaks := r.ahead(seconds)
	if peaks == 0 {
		return min(r.at(phase)-r.at(r.place), max(r.seasons.Peaks[0].Height+r.growth-last, 0))
	}
	return r.at(phase) + (1+peaks)*r.growth - last
}

// crest returns the change to the highest peak within the given seconds, 0 unless each of the last
// peaks was above the one before. It expects as many further rises as there have been.
func (r *seasonalPhase) crest(seconds, last float64) float64 {
	if _, peaks := r.ahead(seconds); peaks > 0 && r.seasons.Rising >= peakCap {
		return r.seasons.Peaks[0].Height + min(peaks, float64(r.seasons.Rising))*r.growth - last
	}
	return 0
}
