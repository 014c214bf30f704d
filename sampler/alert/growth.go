package alert

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// growth detects memory that keeps growing, and not noise, a single step, a
// sawtooth, or growth that levels off. Time is cut into short and into long
// slots. Memory grows where, in slots of either length,
//
//   - each of the last four lies wholly above the one before (noise of four
//     samples a slot does that once in 60 million times);
//   - no single rise is most of it (that is a preallocation);
//   - the last rise is not smaller than the others (that levels off);
//   - it is higher than ever before (a sawtooth is not);
//   - it is at least leastGrowth.
//
// It is no forecast. It cannot distinguish the first slope of a long sawtooth,
// or a start that levels off within several minutes, from a leak.
type growth struct {
	Short, Long slots
	Grew        time.Time // when it last grew, after the warm-up
}

const (
	shortSlot   = 4 * time.Second // sees a leak within 16 s
	longSlot    = 30 * time.Second
	slotSamples = 4 // at least, at any interval
	leastGrowth = 64 * quantity.MiB
)

// add takes a sample in; growth while warming up does not count.
func (g *growth) add(now time.Time, sample snapshot.Bytes, warmingUp bool) {
	used, ok := sample.Value()
	if !ok {
		return
	}
	g.Short.add(now, used, shortSlot)
	g.Long.add(now, used, longSlot)
	if g.growing() && !warmingUp {
		g.Grew = now
	}
}

func (g *growth) growing() bool {
	return g.Short.growing() && !g.Long.levelling() || g.Long.growing()
}

// slots are the last four finished slots, oldest first, and the present one.
type slots struct {
	Done    [4]reach
	Count   int
	Peak    quantity.Bytes // highest before Done, once those are four
	Begin   time.Time
	Samples int
	Present reach
}

type reach struct{ Low, High quantity.Bytes }

func (s *slots) add(now time.Time, used quantity.Bytes, width time.Duration) {
	switch age := now.Sub(s.Begin); {
	case s.Samples > 0 && age < 0: // the clock was set back
		*s = slots{}
	case s.Samples >= slotSamples && age >= width:
		if s.Count == len(s.Done) {
			s.Peak = max(s.Peak, s.Done[0].High)
		}
		copy(s.Done[:], s.Done[1:])
		s.Done[len(s.Done)-1] = s.Present
		s.Count = min(s.Count+1, len(s.Done))
		s.Samples = 0
	}
	if s.Samples == 0 {
		s.Begin = now
		s.Present = reach{used, used}
	}
	s.Samples++
	s.Present.Low, s.Present.High = min(s.Present.Low, used), max(s.Present.High, used)
}

func (s *slots) growing() bool {
	n := len(s.Done)
	total := s.total()
	if s.Count < n || total < leastGrowth || s.Done[n-1].High <= s.Peak || s.levelling() {
		return false
	}
	for i := 1; i < n; i++ {
		before, after := s.Done[i-1], s.Done[i]
		rise := after.Low - before.Low
		if after.Low < before.High || rise <= 0 || rise > total*3/5 {
			return false
		}
	}
	return true
}

// total is how far the lows have risen over all finished slots.
func (s *slots) total() quantity.Bytes { return s.Done[len(s.Done)-1].Low - s.Done[0].Low }

// levelling reports that the last rise is less than three quarters of the
// average one.
func (s *slots) levelling() bool {
	n := len(s.Done)
	last := s.Done[n-1].Low - s.Done[n-2].Low
	return s.Count == n && last < s.total()/quantity.Bytes(n-1)*3/4
}
