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

// minima are the lowest samples of windows of time: of what goes up and down,
// what is never given back.
type minima struct {
	Ring      [windowCap]float64 // bytes
	Next      uint8
	Size      uint8
	Lowest    float64 // of the open window
	WindowEnd int64   // of the open window, ns

	// Highest is the highest of the minima, forgotten over hours: up to where
	// it was once given back, growth is no leak.
	Highest float64
	Joined  uint8 // windows in each of those

	Leaking  bool
	LeakRate float64 // bytes per second
}

func (m *minima) begin(y float64) {
	m.Lowest, m.WindowEnd = y, int64(windowLength)
}

// observe takes a sample, and judges anew whether the series leaks when that
// ends a window.
func (m *minima) observe(now int64, y, step float64, teeth *teeth, long *regression) {
	if now < m.WindowEnd {
		m.Lowest = min(m.Lowest, y)
		return
	}
	if now-m.WindowEnd > 5*int64(windowLength)+int64(10e9*step) {
		m.Size = 0 // what was before a long gap is no row with what comes
	}
	m.Ring[m.Next] = m.Lowest
	m.Next = (m.Next + 1) % windowCap
	m.Size = min(m.Size+1, windowCap)
	m.Lowest = y

	// Where samples are rare the window is longer: its minimum has to be one
	// of several. Under teeth, windows are joined until each holds a whole one.
	length := max(float64(windowLength), 4e9*step)
	m.WindowEnd = now + int64(length)
	joined := max(1, int(math.Ceil(1.5*float64(teeth.period(now, step))/length)))
	var perWindow float64
	perWindow, m.Leaking = m.leak(joined)
	if l, ok := long.line(); ok && l.slowing {
		m.Leaking = false
	}
	m.LeakRate = perWindow / (float64(joined) * length / 1e9)
}

// leak is the slope of the minima of so many windows each, in bytes per window
// so joined, and whether it is a leak's.
func (m *minima) leak(joined int) (slope float64, leaks bool) {
	var room [windowCap]float64
	lows := m.joined(room[:0], joined)
	if !m.highest(lows, joined) {
		return 0, false
	}
	for _, n := range [...]int{6, 8, 12, 20, windowCap} {
		if n > len(lows) {
			break
		}
		if slope, rises := rising(lows[len(lows)-n:]); rises {
			return slope, !slowsDown(lows)
		}
	}
	return 0, false
}

// highest keeps the highest of the minima, and reports whether the newest are
// as high.
func (m *minima) highest(lows []float64, joined int) bool {
	const recent, memory = 3, 240 // minima
	if len(lows) < recent {
		return false
	}
	if joined != int(m.Joined) {
		m.Joined, m.Highest = uint8(min(joined, windowCap+1)), slices.Max(lows)
	}
	newest := slices.Max(lows[len(lows)-recent:])
	m.Highest = max(m.Highest-(m.Highest-newest)/memory, newest)
	return newest == m.Highest
}

// joined appends the minima of so many windows each, oldest first; what is left
// over at the oldest end is left out.
func (m *minima) joined(dst []float64, windows int) []float64 {
	for end := int(m.Size) / windows * windows; end > 0; end -= windows {
		lowest := math.Inf(1)
		for back := end - windows; back < end; back++ {
			lowest = min(lowest, m.Ring[(int(m.Next)+2*windowCap-1-back)%windowCap])
		}
		dst = append(dst, lowest)
	}
	return dst
}

// slowsDown compares the slope of the last windows with that of as many
// before, over several lengths.
func slowsDown(lows []float64) bool {
	const still = 0.7
	for _, n := range [...]int{5, 10, 16} {
		if 2*n > len(lows) {
			break
		}
		end := len(lows)
		if theilSen(lows[end-n:]) < still*theilSen(lows[end-2*n:end-n]) {
			return true
		}
	}
	if fades(lows[max(len(lows)-fadeWindows, 0):]) {
		return true
	}
	n := len(lows)
	if n < 10 {
		return lows[n-1]-lows[n/2] < still*(lows[n-1-n/2]-lows[0])
	}
	return false
}

// fadeWindows is over how many windows growth is watched for fading.
const fadeWindows = 17

// fades reports whether the steps from one minimum to the next become smaller
// all the time, which those of a leak do not however they tremble: by
// Mann–Kendall, and by something that is worth the name.
func fades(lows []float64) bool {
	var room [fadeWindows]float64
	steps := room[:0]
	for i := 1; i < len(lows); i++ {
		steps = append(steps, lows[i]-lows[i-1])
	}
	n := len(steps)
	falling := 0.0
	for i, later := range steps {
		for _, earlier := range steps[:i] {
			switch {
			case later < earlier:
				falling++
			case later > earlier:
				falling--
			}
		}
	}
	const significant, still = 2.4, 0.95
	if m := float64(n); falling < significant*math.Sqrt(m*(m-1)*(2*m+5)/18) {
		return false
	}
	half := len(lows) / 2
	return lows[len(lows)-1]-lows[len(lows)-1-half] < still*(lows[half]-lows[0])
}

// rising is the slope of the minima per window, and whether they rise: by
// Mann–Kendall, by more than they tremble, notably, and not in one step.
func rising(lows []float64) (slope float64, rises bool) {
	n := float64(len(lows))
	concordant := 0.0
	largest := 0.0
	for i, later := range lows {
		for _, earlier := range lows[:i] {
			switch {
			case later > earlier:
				concordant++
			case later < earlier:
				concordant--
			}
		}
		if i > 0 {
			largest = max(largest, later-lows[i-1])
		}
	}
	const significant = 2.6 // standard deviations; of six all fifteen pairs must rise
	if concordant < significant*math.Sqrt(n*(n-1)*(2*n+5)/18) {
		return 0, false
	}
	slope = theilSen(lows)
	total := slope * (n - 1)
	level := lows[len(lows)-1]
	switch {
	case total < max(notable/2*level, least):
		return 0, false
	case largest > 0.45*(lows[len(lows)-1]-lows[0]):
		return 0, false
	case total < 4*tremble(lows, slope):
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
