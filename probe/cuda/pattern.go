package cuda

import (
	"fmt"
	"strings"
	"time"
)

// Pattern is how a probe process's memory changes. It is a pure function of block,
// time and seed: the same seed has the same timeline however fast the driver is, and
// a late step only has more to do.
//
//	steady     ▁█████████████   full; then nine tenths of the temporary blocks live, by turns
//	sawtooth   ▁█▃▄▅▆█▃▄▅▆█▃▄   up, and back to a third: the rest stays cached
//	leak       ▁▁▂▂▃▃▄▄▅▅▆▆▇█   up until the size is reached
//	staircase  ▁▁▁▃▃▃▅▅▅▆▆▆██   the same in eight steps
//	fragment   ▁█▅▅▅▅▅█▅▅▅▅▅█   full, then every other block freed: the free memory is fragmented
type Pattern string

// The patterns.
const (
	Steady    Pattern = "steady"
	Sawtooth  Pattern = "sawtooth"
	Leak      Pattern = "leak"
	Staircase Pattern = "staircase"
	Fragment  Pattern = "fragment"
)

func Patterns() []Pattern { return []Pattern{Steady, Sawtooth, Leak, Staircase, Fragment} }

func ParsePattern(name string) (Pattern, error) {
	var names []string
	for _, p := range Patterns() {
		if string(p) == name {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown pattern %q; it can be %s", name, strings.Join(names, ", "))
}

// The times of the patterns that repeat.
const (
	fillTime   = 2 * time.Second  // until the pattern is full for the first time
	toothTime  = 12 * time.Second // how long a sawtooth's tooth lasts
	fullTime   = time.Second / 2  // how long the pattern is full at the end of fillTime and toothTime
	turnTime   = 20 * time.Second // fragment frees the other half after this time
	wanderTime = 5 * time.Second  // until the free tenth of steady moves on
)

const stairs = 8

// timeline is a pattern with its parameters.
type timeline struct {
	pattern Pattern
	seed    uint64
	blocks  int           // number of temporary blocks; the permanent ones come before them
	length  time.Duration // leak and staircase are full within this time
}

// permanent returns the share of the pool that is always live, like a model's weights, in thousandths.
func (p Pattern) permanent() int {
	switch p {
	case Steady:
		return 500
	case Sawtooth:
		return 350
	}
	return 100
}

// live reports whether a block is live at a time after the start.
func (s *timeline) live(block int, at time.Duration) bool {
	switch s.pattern {
	case Leak:
		return s.below(block, at, s.length)
	case Staircase:
		step := s.length / stairs
		// The first step begins at once, the last one a stair's length before the end.
		return s.below(block, at/step*step+step, s.length)
	}
	if at < fillTime {
		return s.below(block, at, fillTime-fullTime)
	}
	at -= fillTime
	switch s.pattern {
	case Sawtooth:
		tooth := uint64(at / toothTime)
		if s.below(block, at%toothTime, toothTime-fullTime) {
			return true
		}
		// As in real programs, a few blocks live longer: one in 16 outlives its tooth.
		return s.hash(uint64(block), tooth)%16 == 0
	case Fragment:
		if at%turnTime >= turnTime-fillTime {
			return true // filled again before the other half is freed
		}
		return uint64(block)%2 != (s.seed+uint64(at/turnTime))%2
	default: // steady
		tenth := (s.seed + uint64(at/wanderTime)) % 10
		return uint64(block)*10/uint64(s.blocks) != tenth
	}
}

// below reports whether a block is in the first at/whole of all blocks.
func (s *timeline) below(block int, at, whole time.Duration) bool {
	return at >= whole || float64(block) < float64(s.blocks)*float64(at)/float64(whole)
}

// hash returns splitmix64 over the seed and two numbers.
// Source: https://prng.di.unimi.it/splitmix64.c
func (s *timeline) hash(a, b uint64) uint64 {
	z := s.seed + a*0x9e3779b97f4a7c15 + b*0xd1b54a32d192ed03
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
