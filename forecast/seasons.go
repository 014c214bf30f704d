package forecast

import "math"

const (
	// pastCap bins of the past are kept: cycles may be half as long.
	pastCap = 960

	peakCap = 5
)

// seasons remembers the past: the series in bins, and its peaks.
type seasons struct {
	Bins   [pastCap]float32 // a ring over time, bytes
	Bin    int64            // the length of a bin, ns; 0: not known yet
	Newest int64            // the newest bin, counted from the epoch
	Oldest int64

	Peaks [peakCap]peak // a ring
	Next  uint8
	Size  uint8

	// Of the last whole cycle:
	Middle, Lowest float64 // its median and minimum, bytes
	Clarity        float64 // how far it stands out above chance
}

// peak is where a rise ended.
type peak struct {
	At     int64   // ns
	Height float64 // bytes
}

// observe takes the next sample. Bins are as long as the first interval between
// samples, at least a second; bins between two samples have the earlier value.
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

// peaked records a peak, and measures the cycle that it ends.
func (s *seasons) peaked(p peak) {
	if s.Size > 0 && s.Bin > 0 {
		s.measure(max(s.peak(0).At/s.Bin+1, s.Oldest), min(p.At/s.Bin, s.Newest), p.Height)
	}
	s.Peaks[s.Next] = p
	s.Next = (s.Next + 1) % peakCap
	s.Size = min(s.Size+1, peakCap)
}

// measure measures the cycle in the bins from … to. A random walk gets about √n
// steps far in n; a sawtooth gets further, because its steps have one direction.
func (s *seasons) measure(from, to int64, height float64) {
	s.Middle, s.Lowest, s.Clarity = s.median(to*s.Bin, (to-from)*s.Bin), height, 0
	way, before := 0.0, math.NaN()
	for bin := from; bin <= to; bin++ {
		y := float64(s.Bins[bin%pastCap])
		s.Lowest = min(s.Lowest, y)
		if bin > from {
			way += math.Abs(y - before)
		}
		before = y
	}
	n := float64(max(to-from+1, 1))
	if way > 0 {
		s.Clarity = (height - s.Lowest) * math.Sqrt(n) / way
	}
}

// peak is the newest peak, or the one so many before it.
func (s *seasons) peak(back int) peak { return s.Peaks[(int(s.Next)+2*peakCap-1-back)%peakCap] }

// at is the value of the series at a time.
func (s *seasons) at(t int64) float64 {
	bin := min(max((t+s.Bin/2)/s.Bin, s.Oldest), s.Newest)
	return float64(s.Bins[bin%pastCap])
}

// highest is the highest level before a time, in ns.
func (s *seasons) highest(before int64) float64 {
	top := float32(0)
	for bin := s.Oldest; bin <= min(before/s.Bin, s.Newest); bin++ {
		top = max(top, s.Bins[bin%pastCap])
	}
	return float64(top)
}

// median is the median of a few bins over the given length up to a time, in ns.
func (s *seasons) median(end, length int64) float64 {
	const few = 15
	var sorted [few]float32
	n := 0
	for i := range int64(few) {
		bin := (end - i*length/few) / s.Bin
		if bin < s.Oldest {
			break
		}
		v, at := s.Bins[bin%pastCap], n
		for ; at > 0 && sorted[at-1] > v; at-- {
			sorted[at] = sorted[at-1]
		}
		sorted[at] = v
		n++
	}
	return float64(sorted[n/2])
}

// sound reports whether every index lies within its ring.
func (s *seasons) sound() bool {
	return s.Next < peakCap && s.Size <= peakCap && s.Bin >= 0 && s.Oldest >= 0 && s.Newest >= s.Oldest && s.Newest-s.Oldest < pastCap
}
