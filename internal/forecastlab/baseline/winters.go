package baseline

import "math"

// winters is the additive method of Holt and Winters (FPP3 8.3), with the period that the
// last samples show; where they show none it is Holt's. With another period it learns the
// seasons anew from those samples.
type winters struct {
	plain  *holt
	recent []float64
	since  int // samples since the last search for a period

	period       int // 0: none
	at           int // of the newest sample within the seasons
	level, trend float64
	seasons      []float64
}

func newWinters() *winters { return &winters{plain: newTrend(1)} }

func (s *winters) observe(seconds, y float64) {
	s.plain.observe(seconds, y)
	s.recent = append(s.recent, y)
	s.recent = s.recent[max(len(s.recent)-window, 0):]
	if s.period > 0 {
		s.smooth(y)
	}
	if s.since++; s.since >= refresh && len(s.recent) >= 2*refresh {
		s.since = 0
		if p := period(s.recent); p != s.period {
			s.learn(p)
		}
	}
}

func (s *winters) smooth(y float64) {
	const alpha, beta, gamma = 0.2, 0.05, 0.2
	s.at = (s.at + 1) % s.period
	season, before := &s.seasons[s.at], s.level
	s.level = alpha*(y-*season) + (1-alpha)*(s.level+s.trend)
	s.trend = beta*(s.level-before) + (1-beta)*s.trend
	*season = gamma*(y-s.level) + (1-gamma)**season
}

// learn takes level and seasons from the first period of the recent samples, and the trend
// from the next.
func (s *winters) learn(period int) {
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

func (s *winters) change(seconds, step float64) float64 {
	if s.period == 0 {
		return s.plain.change(seconds, step)
	}
	steps := seconds / step
	season := s.seasons[(s.at+int(math.Round(steps)))%s.period]
	return s.level + steps*s.trend + season - s.recent[len(s.recent)-1]
}
