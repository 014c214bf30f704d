package forecast

import (
	"math"
	"slices"
)

// A leak is growth of what is never given back, which does not slow down. It is
// told from two rows of levels: the last half hour's, minute by minute, and the
// whole life's, in slots that become longer with it. A stretch of a row, from
// some level up to the newest, is a leak's if
//
//   - it rises: by Mann and Kendall's test, notably, in many steps none of which
//     is most of it, and further than steps that differ as much would go by
//     chance;
//   - it rises above where the series was before and came back from, by more
//     than a little of what was given back, and under teeth or noise by a few
//     times what goes up and comes down within a window;
//   - its steps do not become smaller, and it has been watched long enough to
//     say so: the most that they may have become smaller is less than they would
//     have if growth faded within half an hour, or within twice the time watched;
//   - nor do those of any stretch up to three times as long.
//
// A line of steps over time says how much smaller they have become. Its error
// is that of a local level (Harvey, Forecasting, Structural Time Series Models
// and the Kalman Filter, 1989, chapter 2): of steps of which a part is undone by the
// next, as noise around a level is, and a part stays, as a burst does. So it is
// right for both, and need not be told which.

// judge says anew whether the series leaks. A window is of so many minutes and
// samples; toothed is a series that goes up and down, and not only trembles.
func (m *minima) judge(minutes float64, swings bool, samples float64, long *regression) {
	// Where noise decides it, the mark must not flicker.
	const patience, lately = 2, 5 // windows
	rate, leaks := m.leak(minutes, swings, samples)
	if l, ok := long.line(); ok && l.slowing {
		leaks = false
	}
	if leaks {
		m.Leaking, m.LeakRate, m.Misses = true, rate, 0
		return
	}
	m.Misses = min(m.Misses+1, patience)
	givenBack := m.Size > lately && m.low(1, 1) < m.low(1+lately, lately)
	m.Leaking = m.Leaking && m.Misses < patience && !givenBack
}

// leak is what the series leaks, in bytes per second.
func (m *minima) leak(minutes float64, swings bool, samples float64) (rate float64, leaks bool) {
	const fewest, young = 6, 7 // windows, minutes
	var room [4][windowCap]float64
	means := row{levels: m.means(room[1][:0]), minutes: minutes}
	lately := m.lately(room[0][:0], means.levels, minutes, samples)
	ever := m.ever(room[2][:0], room[3][:0], minutes, samples)
	if float64(m.Size)*minutes < young {
		return 0, false // what loads its weights, or warms up
	}
	shortest := fewest
	if m.Joined > 1 {
		shortest = fewLows // there is much in each
	}
	for _, r := range [...]row{lately, ever} {
		for _, n := range [...]int{fewLows, 6, 7, 8, 10, 12, 16, 20, 24, 28, windowCap} {
			if n < shortest || n > len(r.lows) {
				continue
			}
			if !m.rises(&r, n, swings) || !m.lasts(&r, n, swings) {
				continue
			}
			const longer = 3
			if reach := longer * float64(n) * r.minutes; means.slows(reach) || lately.slows(reach) || ever.slows(reach) {
				continue
			}
			return theilSen(newest(r.lows, n)) / (60 * r.minutes), true
		}
	}
	return 0, false
}

// rises reports whether the newest n lows of a row go up, and above where they
// were before.
func (m *minima) rises(r *row, n int, swings bool) bool {
	const (
		dominates = 0.3 // a step's share
		chance    = 3.5 // standard deviations
		ofMany    = 6   // that, of a life: it has many stretches
		givenBack = 0.1 // of what was given back, more than this must be new
		within    = 2   // windows' falls
	)
	lows := newest(r.lows, n)
	from, to := lows[0], lows[n-1]
	grown := to - from
	before := highest(r.lows[:len(r.lows)-n])
	if !r.life {
		before = max(before, m.Highest)
	}
	fresh := to - max(before, from)
	if fresh < max(notable*to, least, givenBack*(before-from)) || swings && grown < within*float64(m.Falls) {
		return false
	}
	largest := 0.0
	for i := 1; i < n; i++ {
		largest = max(largest, lows[i]-lows[i-1])
	}
	if largest > dominates*grown || !concordant(lows) {
		return false
	}
	s := stepsOf(lows)
	if r.life {
		return grown > ofMany*s.wandering()
	}
	return grown > chance*s.wandering()
}

// lasts reports whether the steps of the newest n levels cannot have become
// much smaller. The first level may be half of what was before. Under teeth the
// answer may have to be rougher: not all speed is lost.
func (m *minima) lasts(r *row, n int, swings bool) bool {
	const (
		sure, likely = 1, 1
		long         = 10 // minutes
	)
	s := stepsOf(newest(r.levels, n-1))
	if s.mean <= 0 {
		return false
	}
	lost, rough := s.lost()
	err := rough * (1 + 2/(s.count-2)) // few steps do not know their error
	// What never falls by much is rough because it grows so.
	err = min(err, trembling(s.count, float64(m.Falls))/s.mean)
	err = max(err, trembling(s.count, r.tremble)/s.mean)
	fades := fading(s.count * r.minutes)
	if swings && float64(n)*r.minutes >= long && sure*err > fades {
		return lost+likely*rough < 1
	}
	const accelerated = -1 // twice as fast as at first, and more: it began in here
	return lost > accelerated && max(lost, 0)+sure*err <= fades
}

// fading is what steps have lost after so many minutes of growth that fades
// within half an hour, or within twice as long as it is watched.
func fading(minutes float64) float64 {
	const half, asLong = 30, 2
	return 1 - math.Exp(-minutes/max(half, asLong*minutes))
}

// slows reports whether the steps of any stretch of so many minutes at most
// have become smaller, by more than chance and by something worth the name.
func (r *row) slows(minutes float64) bool {
	const worth, significant, few = 0.5, 2.6, 3.5
	for n := fewLows; n <= len(r.levels) && float64(n)*r.minutes <= minutes; n++ {
		s := stepsOf(newest(r.levels, n))
		if s.mean <= 0 {
			continue
		}
		if lost, err := s.lost(); lost > max(worth*fading(s.count*r.minutes), significant*(1+few/(s.count-2))*err) {
			return true
		}
	}
	return false
}

// steps are the differences of levels, as a line over time.
type steps struct {
	count    float64
	mean     float64 // bytes
	bend     float64 // from each to the next, bytes
	variance float64 // around the line
	undone   float64 // the covariance of neighbours: between −variance/2 and 0
}

// stepsOf is those of four levels at least.
func stepsOf(levels []float64) steps {
	n := len(levels) - 1
	s := steps{count: float64(n)}
	s.mean = (levels[n] - levels[0]) / s.count
	middle := (s.count - 1) / 2
	for i := range n {
		s.bend += (float64(i) - middle) * (levels[i+1] - levels[i])
	}
	s.bend /= squares(s.count)
	before := 0.0
	for i := range n {
		rest := levels[i+1] - levels[i] - s.mean - s.bend*(float64(i)-middle)
		s.variance += rest * rest
		s.undone += rest * before
		before = rest
	}
	s.variance /= s.count - 2
	s.undone = min(max(s.undone/(s.count-2), -s.variance/2), 0)
	return s
}

// wandering is the standard deviation of how far as many such steps would go
// by chance. What is undone is not known from so few to be all of it.
func (s *steps) wandering() float64 {
	const known = 0.25
	v := s.count*s.variance + 2*(s.count-1)*s.undone
	return math.Sqrt(max(v, known*s.count*s.variance))
}

// lost is the share of the mean step by which steps have become smaller from
// the first to the last, and its standard error.
func (s *steps) lost() (share, err float64) {
	const digits = 1e-3 // levels are kept to so many that no step is known better
	v := s.variance/squares(s.count) + 2*s.undone*products(s.count)
	return -s.bend * s.count / s.mean, math.Sqrt(max(v, 0))*s.count/s.mean + digits
}

// trembling is the standard error, in bytes, of what steps lose between levels
// that lie so far from a line each, independently.
func trembling(count, bytes float64) float64 {
	return bytes * count * math.Sqrt(2/squares(count)-2*products(count))
}

// squares is Σ(i − middle)² over so many.
func squares(n float64) float64 { return n * (n*n - 1) / 12 }

// products is Σ(i − middle)(i + 1 − middle) over neighbours, over the square of
// squares.
func products(n float64) float64 {
	sum := 0.0
	for x := -(n - 1) / 2; x < (n-2)/2; x++ {
		sum += x * (x + 1)
	}
	return sum / (squares(n) * squares(n))
}

// concordant reports whether levels rise by Mann and Kendall's test.
func concordant(levels []float64) bool {
	const significant = 2.6 // standard deviations
	pairs := 0.0
	for i, later := range levels {
		for _, earlier := range levels[:i] {
			switch {
			case later > earlier:
				pairs++
			case later < earlier:
				pairs--
			}
		}
	}
	n := float64(len(levels))
	return pairs >= min(significant*math.Sqrt(n*(n-1)*(2*n+5)/18), n*(n-1)/2) // of few, all
}

// theilSen is the median of the slopes between all pairs, per level.
func theilSen(y []float64) float64 {
	var room [windowCap * (windowCap - 1) / 2]float64
	slopes := room[:0]
	for i := range y {
		for j := range i {
			slopes = append(slopes, (y[i]-y[j])/float64(i-j))
		}
	}
	return middle(slopes)
}

// middle is the upper median; it sorts its argument.
func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
