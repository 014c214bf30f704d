package baseline

import "math"

const (
	// The period is looked for in so many samples, and again after so many.
	window  = 600
	refresh = 60

	// seasonal is the autocorrelation from which there is a period.
	seasonal = 0.5
)

// The parameters of Holt–Winters: of the level, the trend and the seasons.
const (
	hwAlpha = 0.2
	hwBeta  = 0.05
	hwGamma = 0.2
)

// holtWinters is the additive method (FPP3 8.3) with the period that the
// autocorrelation of the last ten minutes shows, and Holt's where it shows
// none. With another period it learns the seasons anew from that window.
type holtWinters struct {
	plain  *holt
	recent []float64 // up to window samples, oldest first
	since  int       // samples since the period was looked for

	period       int // 0: none
	at           int // of the newest sample within the seasons
	level, trend float64
	seasons      []float64
}

func newHoltWinters() *holtWinters { return &holtWinters{plain: newTrend(1)} }

func (s *holtWinters) observe(seconds, y float64) {
	s.plain.observe(seconds, y)
	s.recent = append(s.recent, y)
	s.recent = s.recent[max(len(s.recent)-window, 0):]
	if s.period > 0 {
		s.smooth(y)
	}
	if s.since++; s.since >= refresh && len(s.recent) >= 2*refresh {
		s.since = 0
		if period := periodOf(s.recent); period != s.period {
			s.learn(period)
		}
	}
}

func (s *holtWinters) smooth(y float64) {
	s.at = (s.at + 1) % s.period
	season := &s.seasons[s.at]
	before := s.level
	s.level = hwAlpha*(y-*season) + (1-hwAlpha)*(s.level+s.trend)
	s.trend = hwBeta*(s.level-before) + (1-hwBeta)*s.trend
	*season = hwGamma*(y-s.level) + (1-hwGamma)**season
}

// learn takes level, trend and seasons from the first two periods of the window.
func (s *holtWinters) learn(period int) {
	s.period = period
	if period == 0 {
		return
	}
	first, next := mean(s.recent[:period]), mean(s.recent[period:2*period])
	s.trend = (next - first) / float64(period)
	s.seasons = make([]float64, period)
	for i := range s.seasons {
		s.seasons[i] = s.recent[i] - first - s.trend*(float64(i)-float64(period-1)/2)
	}
	s.level, s.at = first+s.trend*float64(period-1)/2, period-1
	for _, y := range s.recent[period:] {
		s.smooth(y)
	}
}

func (s *holtWinters) change(seconds, step float64) float64 {
	if s.period == 0 {
		return s.plain.change(seconds, step)
	}
	steps := seconds / step
	season := s.seasons[(s.at+int(math.Round(steps)))%s.period]
	return s.level + steps*s.trend + season - s.recent[len(s.recent)-1]
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// periodOf is the lag at which the autocorrelation of the detrended samples is
// highest, after it has first fallen below zero; 0 where it is low everywhere.
func periodOf(y []float64) int {
	rest := detrended(y)
	variance := 0.0
	for _, v := range rest {
		variance += v * v
	}
	if variance == 0 {
		return 0
	}
	best, period, fell := seasonal, 0, false
	for lag := 2; lag <= len(rest)/2; lag++ {
		sum := 0.0
		for i := lag; i < len(rest); i++ {
			sum += rest[i] * rest[i-lag]
		}
		r := sum / variance * float64(len(rest)) / float64(len(rest)-lag)
		fell = fell || r < 0
		if fell && r > best {
			best, period = r, lag
		}
	}
	return period
}

// detrended is what the least-squares line leaves.
func detrended(y []float64) []float64 {
	n := float64(len(y))
	middle, height := (n-1)/2, mean(y)
	var xy, xx float64
	for i, v := range y {
		xy += (float64(i) - middle) * (v - height)
		xx += (float64(i) - middle) * (float64(i) - middle)
	}
	slope := xy / xx
	rest := make([]float64, len(y))
	for i, v := range y {
		rest[i] = v - height - slope*(float64(i)-middle)
	}
	return rest
}
