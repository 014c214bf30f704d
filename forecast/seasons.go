package forecast

import "math"

const (
	// pastCap is how many bins of the past are kept: of teeth that are up to
	// half as long, the last whole one is among them.
	pastCap = 960

	peakCap  = 5
	fewPeaks = 2
	// risingPeaks is how many must stand each above the last before the next is
	// held to.
	risingPeaks = 4
)

// seasons is the memory of teeth: what the series was, and where it peaked.
type seasons struct {
	Bins   [pastCap]float32 // a ring over time, bytes
	Bin    int64            // the length of a bin, ns; 0: not known yet
	Newest int64            // the newest bin, counted from the epoch
	Oldest int64

	Peaks [peakCap]peak // a ring
	Next  uint8
	Size  uint8
	Mean  float64 // of the last whole tooth, bytes
}

// peak is where a rise ended.
type peak struct {
	At     int64   // ns
	Height float64 // bytes
}

// observe takes the next sample. Bins are as long as samples lie apart at
// first, but a second at least; those between two samples have the earlier
// one's value.
func (s *seasons) observe(now int64, y, step float64) {
	if s.Bin == 0 {
		s.Bin = int64(max(step, 1) * 1e9)
		s.Newest, s.Oldest = now/s.Bin, now/s.Bin
	}
	bin := now / s.Bin
	if bin-s.Newest >= pastCap {
		s.Newest, s.Oldest = bin, bin
	}
	for before := s.Bins[s.Newest%pastCap]; s.Newest < bin-1; {
		s.Newest++
		s.Bins[s.Newest%pastCap] = before
	}
	s.Newest = bin
	s.Oldest = max(s.Oldest, bin-pastCap+1)
	s.Bins[bin%pastCap] = float32(y)
}

// peaked takes a peak down, and the mean since the one before.
func (s *seasons) peaked(p peak) {
	if s.Size > 0 && s.Bin > 0 {
		from, to := max(s.peak(0).At/s.Bin+1, s.Oldest), min(p.At/s.Bin, s.Newest)
		sum := 0.0
		for bin := from; bin <= to; bin++ {
			sum += float64(s.Bins[bin%pastCap])
		}
		s.Mean = sum / float64(max(to-from+1, 1))
	}
	s.Peaks[s.Next] = p
	s.Next = (s.Next + 1) % peakCap
	s.Size = min(s.Size+1, peakCap)
}

// peak is the newest but so many.
func (s *seasons) peak(back int) peak { return s.Peaks[(int(s.Next)+2*peakCap-1-back)%peakCap] }

// at is what the series was at a time.
func (s *seasons) at(t int64) float64 {
	bin := min(max((t+s.Bin/2)/s.Bin, s.Oldest), s.Newest)
	return float64(s.Bins[bin%pastCap])
}

// rhythm is what the last teeth say of the present one.
type rhythm struct {
	seasons *seasons
	length  float64 // of a tooth, seconds
	phase   float64 // how long ago the last one peaked
	whole   float64 // how long the present one will have been
	before  int64   // when the last but one peaked, ns
	last    float64 // how long the last one was
	same    float64 // what the last one was at this phase
	growth  float64 // from one peak to the next, bytes
	spread  float64 // the standard deviation of a tooth's length, as a share of it
	rises   bool    // each peak was above the one before
	height  float64 // of the last peak
}

// rhythm is that of the teeth now. false: they are too few or too uneven, the
// next is long overdue, or they are longer than what is remembered.
func (s *seasons) rhythm(now int64) (rhythm, bool) {
	if s.Size < fewPeaks || s.Bin == 0 {
		return rhythm{}, false
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
	r := rhythm{
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
		return rhythm{}, false
	}
	r.whole = max(r.length, r.phase+bin)
	r.same = r.at(r.phase)
	return r, true
}

// at is what the last tooth was so many seconds after the peak before it.
func (r *rhythm) at(phase float64) float64 {
	return r.seasons.at(r.before + int64(min(phase, r.last)*1e9))
}

// ahead is where in its tooth the series will be, and how many peaks will have
// gone by.
func (r *rhythm) ahead(seconds float64) (phase, peaks float64) {
	phase = r.phase + seconds
	if phase < r.whole {
		return phase, 0
	}
	peaks = 1 + math.Floor((phase-r.whole)/r.length)
	return phase - r.whole - (peaks-1)*r.length, peaks
}

// astray is the share of a tooth's height by which the series may differ from
// the last tooth and still be in the same place of its own.
const astray = 0.25

// claim is by how much the series will have changed. The present tooth goes on
// as the last one did from here. Those after it are as the last one was, higher
// by what teeth grow; the further away, the less is known of where in its tooth
// the series will be, so that less of its shape is left and more of its mean:
// what a wave has left whose phase is a normal deviate.
func (r *rhythm) claim(seconds, last float64) float64 {
	phase, peaks := r.ahead(seconds)
	if peaks == 0 {
		return min(r.at(phase)-r.same, max(r.height+r.growth-last, 0))
	}
	shape := math.Exp(-2 * math.Pi * math.Pi * r.spread * r.spread * peaks)
	higher := r.growth
	if off := last - r.same; math.Abs(off) < astray*2*math.Abs(r.height-r.seasons.Mean) {
		higher = off
	}
	return r.seasons.Mean + shape*(r.at(phase)-r.seasons.Mean) + higher + peaks*r.growth - last
}

// crest is by how much the highest peak until then stands above a change. It
// is 0 unless peaks rise: a passing one is not the end.
func (r *rhythm) crest(seconds, last, change float64) float64 {
	_, peaks := r.ahead(seconds)
	if !r.rises || peaks == 0 || r.seasons.Size < risingPeaks {
		return 0
	}
	return max(r.height+peaks*r.growth-last-change, 0)
}

// sound reports whether every index lies within its ring.
func (s *seasons) sound() bool {
	return s.Next < peakCap && s.Size <= peakCap && s.Bin >= 0 && s.Oldest >= 0 && s.Newest >= s.Oldest && s.Newest-s.Oldest < pastCap
}
