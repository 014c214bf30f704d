package alert

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// growth detects memory that keeps growing. It ignores noise, a single step, a sawtooth, and
// growth that levels off. Time is cut into short and into long slots. Memory grows if, in slots
// of either length,
//
//   - each of the last four lies wholly above the one before (noise of four samples a slot does
//     that once in 60 million times);
//   - no single rise is most of it (that is a preallocation);
//   - the last rise is not smaller than the others (that levels off);
//   - it is higher than ever before (a sawtooth is not);
//   - it is at least leastGrowth.
//
// It is no forecast. It cannot distinguish the first slope of a long sawtooth, or a start that
// levels off within several minutes, from a leak.
type growth struct {
	short, long slots
	grew        time.Time // when it last grew, after the warm-up
}

const (
	shortSlot   = 4 * time.Second // sees a leak within 16 s
	longSlot    = 30 * time.Second
	slotSamples = 4 // at least, at any interval
	leastGrowth = 64 * quantity.MiB
)

// add takes a sample; growth while warming up does not count.
func (g *growth) add(now time.Time, sample snapshot.Bytes, warmingUp bool) {
	used, ok := sample.Value()
	if !ok {
		return
	}
	g.short.add(now, used, shortSlot)
	g.long.add(now, used, longSlot)
	if g.growing() && !warmingUp {
		g.grew = now
	}
}

func (g *growth) growing() bool {
	return g.short.growing() && !g.long.levelling() || g.long.growing()
}

// slots are the last four finished slots, oldest first, and the present one.
type slots struct {
	done    [4]reach
	count   int
	peak    quantity.Bytes // highest before Done, once those are four
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
	if s.count < n || total < leastGrowth || s.done[n-1].high <= s.peak || s.levelling() {
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

// total returns how far the lows have risen over all finished slots.
func (s *slots) total() quantity.Bytes { return s.done[len(s.done)-1].low - s.done[0].low }

// levelling reports whether the last rise is less than three quarters of the average one.
func (s *slots) levelling() bool {
	n := len(s.done)
	last := s.done[n-1].low - s.done[n-2].low
	return s.count == n && last < s.total()/quantity.Bytes(n-1)*3/4
}
