package alert

import (
	"time"

	"vramscope/internal/quantity"
)

// growth tells memory that keeps growing from memory that trembles, steps up
// once, comes and goes, or levels off. Time is cut into slots, short ones and
// long ones. It grows when, in slots of either kind,
//
//   - each of the last four lies wholly above the one before: noise of four
//     samples a slot does that once in 60 million times;
//   - no single rise makes up most of it: that is a preallocation;
//   - the last rise is not smaller than the others: that levels off;
//   - it is higher than it has ever been seen: a sawtooth is not;
//   - it is more than a trifle.
//
// It is not a forecast: it says that there is growth, not how it goes on. The
// first slope of a long sawtooth and a start-up that levels off within several
// minutes cannot be told from a leak this way.
type growth struct {
	short, long slots
}

const (
	shortSlot   = 4 * time.Second // sees a leak within 16 s
	longSlot    = 30 * time.Second
	slotSamples = 4 // at least, whatever the interval
	trifle      = 64 * quantity.MiB
)

func (g *growth) add(now time.Time, used quantity.Bytes) {
	g.short.add(now, used, shortSlot)
	g.long.add(now, used, longSlot)
}

func (g *growth) growing() bool {
	return g.short.growing() && !g.long.levelling() || g.long.growing()
}

// slots are the last four finished slots, oldest first, and the present one.
type slots struct {
	done    [4]reach
	count   int
	peak    quantity.Bytes // highest before done, once those are four
	begin   time.Time
	samples int
	present reach
}

type reach struct{ low, high quantity.Bytes }

func (s *slots) add(now time.Time, used quantity.Bytes, width time.Duration) {
	switch age := now.Sub(s.begin); {
	case s.samples > 0 && age < 0: // the clock was set back
		*s = slots{}
	case s.samples >= slotSamples && age >= width:
		if s.count == len(s.done) {
			s.peak = max(s.peak, s.done[0].high)
		}
		copy(s.done[:], s.done[1:])
		s.done[len(s.done)-1] = s.present
		s.count = min(s.count+1, len(s.done))
		s.samples = 0
	}
	if s.samples == 0 {
		s.begin = now
		s.present = reach{used, used}
	}
	s.samples++
	s.present.low, s.present.high = min(s.present.low, used), max(s.present.high, used)
}

func (s *slots) growing() bool {
	n := len(s.done)
	total := s.total()
	if s.count < n || total < trifle || s.done[n-1].high <= s.peak || s.levelling() {
		return false
	}
	for i := 1; i < n; i++ {
		before, after := s.done[i-1], s.done[i]
		rise := after.low - before.low
		if after.low < before.high || rise <= 0 || rise > total*3/5 {
			return false
		}
	}
	return true
}

// total is how far the lows have risen over all finished slots.
func (s *slots) total() quantity.Bytes { return s.done[len(s.done)-1].low - s.done[0].low }

// levelling reports that the last rise is less than three quarters of the
// average one.
func (s *slots) levelling() bool {
	n := len(s.done)
	last := s.done[n-1].low - s.done[n-2].low
	return s.count == n && last < s.total()/quantity.Bytes(n-1)*3/4
}
