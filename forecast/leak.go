package forecast

import (
	"math"
	"slices"
	"time"
)

const (
	windowLength = time.Minute
	windowCap    = 32
)

// close ends the open window, keeps its minimum, and judges anew whether the
// series leaks. A window is longer where samples are rare: its minimum has to
// be one of several.
func (t *tendencies) close(now int64, step float64) {
	if now-t.WindowEnd > 5*int64(windowLength)+int64(10e9*step) {
		t.Size = 0 // what was before a long gap is no row with what comes
	}
	t.Minima[t.Next] = t.Lowest
	t.Next = (t.Next + 1) % windowCap
	t.Size = min(t.Size+1, windowCap)
	t.WindowEnd = now + max(int64(windowLength), int64(4e9*step))
	t.LeakRate, t.Leaking = t.leak(now, step)
}

// leak judges the minima. Under teeth, windows are joined until each holds a
// whole tooth.
func (t *tendencies) leak(now int64, step float64) (perSecond float64, leaks bool) {
	length := max(float64(windowLength), 4e9*step)
	joined := max(1, int(math.Ceil(1.5*float64(t.period(now, step))/length)))
	var room [windowCap]float64
	minima := t.joined(room[:0], joined)
	for _, n := range [...]int{5, 8, 12, 20, windowCap} {
		if n > len(minima) {
			break
		}
		if slope, rises := rising(minima[len(minima)-n:]); rises {
			if slowsDown(minima) {
				return 0, false
			}
			return slope / (float64(joined) * length / 1e9), true
		}
	}
	return 0, false
}

// joined appends the minima of so many windows each, oldest first; what is left
// over at the oldest end is left out.
func (t *tendencies) joined(dst []float64, windows int) []float64 {
	for end := int(t.Size) / windows * windows; end > 0; end -= windows {
		lowest := math.Inf(1)
		for back := end - windows; back < end; back++ {
			lowest = min(lowest, t.Minima[(int(t.Next)+2*windowCap-1-back)%windowCap])
		}
		dst = append(dst, lowest)
	}
	return dst
}

// slowsDown compares the slope of the last windows with that of as many
// before, over several lengths.
func slowsDown(minima []float64) bool {
	const still = 0.7
	for _, n := range [...]int{5, 10, 16} {
		if 2*n > len(minima) {
			break
		}
		end := len(minima)
		if theilSen(minima[end-n:]) < still*theilSen(minima[end-2*n:end-n]) {
			return true
		}
	}
	n := len(minima)
	if n < 10 {
		return minima[n-1]-minima[n/2] < still*(minima[n-1-n/2]-minima[0])
	}
	return false
}

// rising is the slope of the minima per window, and whether they rise: by
// Mann–Kendall, by more than they tremble, notably, and not in one step.
func rising(minima []float64) (slope float64, rises bool) {
	n := float64(len(minima))
	concordant := 0.0
	largest := 0.0
	for i, later := range minima {
		for _, earlier := range minima[:i] {
			switch {
			case later > earlier:
				concordant++
			case later < earlier:
				concordant--
			}
		}
		if i > 0 {
			largest = max(largest, later-minima[i-1])
		}
	}
	const significant = 2.3 // standard deviations: all ten pairs of five
	if concordant < significant*math.Sqrt(n*(n-1)*(2*n+5)/18) {
		return 0, false
	}
	slope = theilSen(minima)
	total := slope * (n - 1)
	level := minima[len(minima)-1]
	switch {
	case total < max(notable/2*level, 16*mebibyte):
		return 0, false
	case largest > 0.45*(minima[len(minima)-1]-minima[0]):
		return 0, false
	case total < 3*tremble(minima, slope):
		return 0, false
	}
	return slope, true
}

// theilSen is the median of the slopes between all pairs, per window.
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

// tremble is the median distance from a line of that slope.
func tremble(y []float64, slope float64) float64 {
	var room [windowCap]float64
	rest := room[:len(y)]
	for i := range y {
		rest[i] = y[i] - slope*float64(i)
	}
	center := middle(rest)
	for i := range rest {
		rest[i] = math.Abs(y[i] - slope*float64(i) - center)
	}
	return middle(rest)
}

// middle is the upper median; it sorts its argument.
func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}
