package forecast

import (
	"math"
	"slices"
)

// A leak is growth of memory that is never freed and that does not slow down. It is
// found in two rows of levels: the last half hour's, and the whole life's. A stretch of
// a row, from some level to the newest, is a leak if
//
//   - it rises: by Mann and Kendall's test, by a notable amount, in many steps none
//     of which dominates, and further than such steps would wander by chance;
//   - it rises above the highest level before it, by more than a tenth of what was
//     freed there, and under a sawtooth or noise by a few times the fall within a
//     window;
//   - its steps do not become smaller, and it has been watched long enough to know:
//     at most they have become smaller by less than they would if growth faded
//     within half an hour, or within twice the time watched;
//   - nor do the steps of any stretch up to three times as long.
//
// A line through the steps over time shows how much smaller they have become. Its
// error is that of a local level: a part of each step is undone by the next, as noise
// is, and a part stays, as a burst does.

// judge decides again whether the series leaks. A window has so many minutes and
// samples; swings is true of a sawtooth.
func (m *minima) judge(minutes float64, swings bool, samples float64, long *regression) {
	// Noise must not make the mark flicker.
	const tolerated, lately = 2, 5 // windows
	rate, leaks := m.leak(minutes, swings, samples)
	if l, ok := long.line(); ok && l.slowing {
		leaks = false
	}
	if leaks {
		m.Leaking, m.LeakRate, m.Misses = true, rate, 0
		return
	}
	m.Misses = min(m.Misses+1, tolerated)
	freed := m.Size > lately && m.low(1, 1) < m.low(1+lately, lately)
	m.Leaking = m.Leaking && m.Misses < tolerated && !freed
}

// leak is the rate of the leak, in bytes per second.
func (m *minima) leak(minutes float64, swings bool, samples float64) (rate float64, leaks bool) {
	const fewest, young = 6, 7 // windows, minutes
	var room [4][windowCap]float64
	means := row{levels: m.means(room[1][:0]), minutes: minutes}
	lately := m.lately(room[0][:0], means.levels, minutes, samples)
	ever := m.ever(room[2][:0], room[3][:0], minutes, samples)
	if float64(m.Size)*minutes < young {
		return 0, false // it may still load weights, or warm up
	}
	shortest := fewest
	if m.Joined > 1 {
		shortest = fewLows // each covers a long time
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

// rises reports whether the newest n lows of a row rise, and above all before.
func (m *minima) rises(r *row, n int, swings bool) bool {
	const (
		dominates    = 0.3 // a step's share
		chance       = 3.5 // standard deviations
		chanceOfLife = 6.0 // likewise, of a life: it has many stretches
		freed        = 0.1 // more than this share of what was freed before must be new
		within       = 2   // windows' falls
	)
	lows := newest(r.lows, n)
	from, to := lows[0], lows[n-1]
	grown := to - from
	before := 0.0
	if !r.life {
		before = m.Highest
	}
	for _, low := range r.lows[:len(r.lows)-n] {
		before = max(before, low)
	}
	fresh := to - max(before, from)
	if fresh < max(notable*to, least, freed*(before-from)) || swings && grown < within*float64(m.Falls) {
		return false
	}
	largest := 0.0
	for i := 1; i < n; i++ {
		largest = max(largest, lows[i]-lows[i-1])
	}
	if largest > dominates*grown || !concordant(lows) {
		return false
	}
	s, deviations := stepsOf(lows), chance
	if r.life {
		deviations = chanceOfLife
	}
	return grown > deviations*s.wandering()
}

// lasts reports whether the steps of the newest n levels cannot have become much
// smaller. Under a sawtooth a rougher answer has to do: not all speed is lost.
func (m *minima) lasts(r *row, n int, swings bool) bool {
	const (
		sure, likely = 1, 1
		long         = 10 // minutes
	)
	s := stepsOf(newest(r.levels, n-1)) // the first level may partly be of the time before
	if s.mean <= 0 {
		return false
	}
	lost, rough := s.lost()
	err := rough * (1 + 2/(s.count-2)) // few steps underestimate their error
	// A series that hardly falls is rough because of how it grows.
	err = min(err, noiseOfLoss(s.count, float64(m.Falls))/s.mean)
	err = max(err, noiseOfLoss(s.count, r.noise)/s.mean)
	fades := fading(s.count * r.minutes)
	if swings && float64(n)*r.minutes >= long && sure*err > fades {
		return lost+likely*rough < 1
	}
	const accelerated = -1 // twice as fast as at first: growth began within the stretch
	return lost > accelerated && max(lost, 0)+sure*err <= fades
}

// fading is what steps lose when growth fades in half an hour or twice the time watched.
func fading(minutes float64) float64 {
	const half, asLong = 30, 2
	return 1 - math.Exp(-minutes/max(half, asLong*minutes))
}

// slows reports whether the steps of any such short stretch have become notably smaller.
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

// steps are the differences of neighbouring levels, and a line through them.
type steps struct {
	count    float64
	mean     float64 // bytes
	bend     float64 // from each to the next, bytes
	variance float64 // around the line
	undone   float64 // the covariance of neighbours: between −variance/2 and 0
}

// stepsOf takes at least four levels.
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

// wandering is the standard deviation of how far as many such steps would go by
// chance. So few steps cannot show that all of the variance is undone.
func (s *steps) wandering() float64 {
	const known = 0.25
	v := s.count*s.variance + 2*(s.count-1)*s.undone
	return math.Sqrt(max(v, known*s.count*s.variance))
}

// lost is the share that steps have lost from first to last, and its standard error.
func (s *steps) lost() (share, err float64) {
	const digits = 1e-3 // the precision of levels
	v := s.variance/squares(s.count) + 2*s.undone*products(s.count)
	return -s.bend * s.count / s.mean, math.Sqrt(max(v, 0))*s.count/s.mean + digits
}

// noiseOfLoss is the standard error, in bytes, that noise of the levels gives to lost.
func noiseOfLoss(count, bytes float64) float64 {
	return bytes * count * math.Sqrt(2/squares(count)-2*products(count))
}

// squares is Σ(i − middle)² for i in 0…n−1.
func squares(n float64) float64 { return n * (n*n - 1) / 12 }

// products is Σ(i − middle)(i + 1 − middle) over neighbours, divided by squares².
func products(n float64) float64 {
	sum := 0.0
	for x := -(n - 1) / 2; x < (n-2)/2; x++ {
		sum += x * (x + 1)
	}
	return sum / (squares(n) * squares(n))
}

// concordant reports whether levels rise, by Mann and Kendall's test.
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
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}
