package forecast

import "math"

const (
	fewPeaks = 2
	// risingPeaks is how many must stand each above the last before the next is
	// held to.
	risingPeaks = 4
)

// rhythm is what the last teeth say of the present one. Times are in seconds,
// a phase is counted from the peak before.
type seasonalPhase struct {
	seasons *seasons
	before  int64   // when the last but one peaked, ns
	length  float64 // of a tooth, on average
	last    float64 // how long the last one was
	phase   float64 // how long ago it peaked
	place   float64 // the phase of the last tooth at which it was as the present one is now
	pace    float64 // how much faster the present one goes
	whole   float64 // how long the present one will have been
	unsure  float64 // how little of its end is known, 0…1
	same    float64 // what the last one was at this place
	height  float64 // of the last peak
	growth  float64 // from one peak to the next, bytes
	spread  float64 // the standard deviation of a tooth's length, as a share of it
	rises   bool    // each peak was above the one before
}

// rhythm is that of the teeth now. false: they are too few or too uneven, no
// more than chance would make, or longer than what is remembered, or the next
// is long overdue.
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

// follow finds the present tooth's place in the last one: where that was as
// high, if it went up or down there evenly, else where it was as old. A tooth
// that has come further than its age says goes faster, and ends sooner.
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

// at is what the last tooth was at a phase.
func (r *seasonalPhase) at(phase float64) float64 {
	return r.seasons.at(r.before + int64(min(phase, r.last)*1e9))
}

// ahead is at which phase of the last tooth the series will be, and how many
// peaks will have gone by.
func (r *seasonalPhase) ahead(seconds float64) (phase, peaks float64) {
	rest := r.phase + seconds - r.whole
	if rest < 0 {
		return r.place + seconds*r.pace, 0
	}
	peaks = 1 + math.Floor(rest/r.length)
	return (rest - (peaks-1)*r.length) * r.last / r.length, peaks
}

// astray is the share of a tooth's height by which the series may differ from
// the last tooth and still be in the same place of its own.
const astray = 0.25

// claim is by how much the series will have changed. The present tooth goes on
// as the last one did from here. Those after it are as the last one was, higher
// by what teeth grow; the further away, the less is known of where in its tooth
// the series will be, so that less of its shape is left and more of its
// median: what a wave has left whose phase is a normal deviate.
func (r *seasonalPhase) claim(seconds, last float64) float64 {
	phase, peaks := r.ahead(seconds)
	if peaks == 0 {
		return min(r.at(phase)-r.same, max(r.height+r.growth-last, 0))
	}
	gone := phase / r.last
	variance := r.spread * r.spread * (r.unsure*r.unsure + peaks - 1 + gone*gone) // of the phase, in teeth
	shape := math.Exp(-2 * math.Pi * math.Pi * variance)
	higher := r.growth
	if off := last - r.same; math.Abs(off) < astray*2*math.Abs(r.height-r.seasons.Middle) {
		higher = off
	}
	return r.seasons.Middle + shape*(r.at(phase)-r.seasons.Middle) + higher + peaks*r.growth - last
}

// crest is by how much the highest peak until then stands above a change. It
// is 0 unless peaks rise: a passing one is not the end.
func (r *seasonalPhase) crest(seconds, last, change float64) float64 {
	_, peaks := r.ahead(seconds)
	if !r.rises || peaks == 0 || r.seasons.Size < risingPeaks {
		return 0
	}
	return max(r.height+peaks*r.growth-last-change, 0)
}
