package forecast

import "math"

const (
	fewPeaks = 2
	// risingPeaks must each be above the last before the next is expected to be.
	risingPeaks = 4
)

// seasonalPhase places the present cycle of a sawtooth in the last one. A phase is the
// seconds since the peak before.
type seasonalPhase struct {
	seasons *seasons
	before  int64   // the time of the last peak but one, ns
	length  float64 // of a cycle, on average
	last    float64 // length of the last cycle
	phase   float64 // time since the last peak
	place   float64 // the phase of the last cycle that matches the present
	pace    float64 // speed of the present cycle relative to the last
	whole   float64 // expected length of the present cycle
	unsure  float64 // of that length, 0…1
	same    float64 // value of the last cycle at place
	height  float64 // of the last peak
	growth  float64 // from one peak to the next, bytes
	spread  float64 // standard deviation of the cycles' lengths, as a share
	rises   bool    // each peak was above the one before
}

// phase is the seasonal phase now. It is false where cycles are too few, too uneven,
// too long or as small as by chance, and where the next peak is long overdue.
func (s *seasons) phase(now int64, y float64) (seasonalPhase, bool) {
	const clear = 2.8
	if s.Size < fewPeaks || s.Bin == 0 || s.Clarity < clear {
		return seasonalPhase{}, false
	}
	n := int(s.Size) - 1
	shortest, longest := math.Inf(1), 0.0
	rises, squares := true, 0.0
	for i := range n {
		length := float64(s.peak(i).At-s.peak(i+1).At) / 1e9
		shortest, longest = min(shortest, length), max(longest, length)
		squares += length * length
		rises = rises && s.peak(i).Height > s.peak(i+1).Height
	}
	newest, before, first := s.peak(0), s.peak(1), s.peak(n)
	r := seasonalPhase{
		seasons: s, before: before.At, rises: rises, height: newest.Height,
		length: float64(newest.At-first.At) / float64(n) / 1e9,
		phase:  float64(now-newest.At) / 1e9,
		last:   float64(newest.At-before.At) / 1e9,
		growth: (newest.Height - first.Height) / float64(n),
	}
	r.spread = math.Sqrt(max(squares/float64(n)/(r.length*r.length)-1, 0))
	const uneven, overdue, coarse = 1.6, 1.4, 4
	bin := float64(s.Bin) / 1e9
	if longest > uneven*shortest || r.phase > overdue*r.length || r.length < coarse*bin || before.At < s.Oldest*s.Bin {
		return seasonalPhase{}, false
	}
	r.follow(y, bin)
	return r, true
}

// follow finds the place of the present cycle in the last one: where the last one
// was as high, if it rose or fell evenly there, else where it was as old. A cycle
// that is further than its age runs faster, and ends sooner.
func (r *seasonalPhase) follow(y, bin float64) {
	const faster, changes, evenly, slack = 1.6, 0.1, 0.3, 0.1
	r.place, r.pace, r.unsure = r.phase, 1, 1
	r.whole = max(r.length, r.phase+bin)
	low, high := r.phase/faster, min(r.phase*faster, r.last)
	from, to := r.at(low), r.at(high)
	halfway := (r.at((low+high)/2) - from) / (to - from)
	if high > low && math.Abs(to-from) > changes*(r.height-r.seasons.Lowest) && math.Abs(halfway-0.5) < evenly {
		for high-low > bin {
			middle := (low + high) / 2
			if (r.at(middle) < y-r.growth) == (to > from) {
				low = middle
			} else {
				high = middle
			}
		}
		r.place = (low + high) / 2
		r.pace = (r.place + slack*r.last) / (r.phase + slack*r.last)
		r.unsure = 1 - r.place/r.last
		r.whole = r.phase + max((r.last-r.place)/r.pace, bin)
	}
	r.same = r.at(r.place)
}

// at is the value of the last cycle at a phase.
func (r *seasonalPhase) at(phase float64) float64 {
	return r.seasons.at(r.before + int64(min(phase, r.last)*1e9))
}

// ahead is the phase of the last cycle reached by then, and the peaks passed.
func (r *seasonalPhase) ahead(seconds float64) (phase, peaks float64) {
	rest := r.phase + seconds - r.whole
	if rest < 0 {
		return r.place + seconds*r.pace, 0
	}
	peaks = 1 + math.Floor(rest/r.length)
	return (rest - (peaks-1)*r.length) * r.last / r.length, peaks
}

// astray is how far off, in heights of a cycle, the series is still at its place.
const astray = 0.25

// claim is the change of the series. The present cycle continues as the last one did
// from this place. Later cycles are as the last one, higher by the growth, and nearer
// to its median the less certain the phase: the mean of a wave with a normal phase.
func (r *seasonalPhase) claim(seconds, last float64) float64 {
	phase, peaks := r.ahead(seconds)
	if peaks == 0 {
		return min(r.at(phase)-r.same, max(r.height+r.growth-last, 0))
	}
	gone := phase / r.last
	variance := r.spread * r.spread * (r.unsure*r.unsure + peaks - 1 + gone*gone) // of the phase, in cycles
	shape := math.Exp(-2 * math.Pi * math.Pi * variance)
	higher := r.growth
	if off := last - r.same; math.Abs(off) < astray*2*math.Abs(r.height-r.seasons.Middle) {
		higher = off
	}
	return r.seasons.Middle + shape*(r.at(phase)-r.seasons.Middle) + higher + peaks*r.growth - last
}

// crest is how far the highest peak until then rises above a change. It is 0 unless
// peaks rise: a peak as high as the last does not fill the GPU.
func (r *seasonalPhase) crest(seconds, last, change float64) float64 {
	_, peaks := r.ahead(seconds)
	if !r.rises || peaks == 0 || r.seasons.Size < risingPeaks {
		return 0
	}
	return max(r.height+peaks*r.growth-last-change, 0)
}
