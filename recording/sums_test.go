package recording

import (
	"math"
	"testing"
	"time"
)

// TestPartsOfAMinuteAddUp: a probe that reports for a part of it, and a GPU that is
// lost for a part of it and whose processes still report.
func TestPartsOfAMinuteAddUp(t *testing.T) {
	known := func(v int64) figure { return figure{v, true} }
	none := figure{}
	idle := []figure{known(100), none, known(100), known(0)} // used, cached, unknown, utilization
	probed := []figure{known(100), known(60), known(40), known(50)}
	lost := []figure{none, known(60), none, none}
	for name, c := range map[string]struct {
		ticks   [][]figure
		covered int64 // s
		cached  float64
	}{
		"no probe at first": {[][]figure{idle, idle, idle, probed}, 4, 15},
		"lost at the end":   {[][]figure{probed, probed, lost, lost, lost}, 2, 60},
		"lost at first":     {[][]figure{lost, lost, lost, idle, probed}, 2, 30},
		"always lost":       {[][]figure{lost, lost}, 2, 60},
	} {
		var w window
		sums := make([]sum, 4)
		for _, tick := range c.ticks {
			w.measure(sums, time.Second, tick)
		}
		if w.covered != c.covered*int64(time.Second) {
			t.Errorf("%s: %v are covered, want %d s", name, time.Duration(w.covered), c.covered)
		}
		of := func(s *sum) float64 { return s.area / float64(w.covered) }
		if got := of(&sums[1]); got != c.cached {
			t.Errorf("%s: %v cached, want %v", name, got, c.cached)
		}
		if used := of(&sums[0]); used != 0 && math.Abs(of(&sums[1])+of(&sums[2])-used) > 1e-9 {
			t.Errorf("%s: parts %v and %v are not the %v used", name, of(&sums[1]), of(&sums[2]), used)
		}
	}
}
