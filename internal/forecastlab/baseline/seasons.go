package baseline

// recent is the last samples of a series, and the period that they show.
type recent struct {
	samples []float64
	period  int // samples; 0: none
	since   int // samples since the last search for one
}

// add takes a sample and reports whether the period is another one than before.
func (s *recent) add(y float64) bool {
	const window, refresh = 600, 60
	s.samples = append(s.samples, y)
	s.samples = s.samples[max(len(s.samples)-window, 0):]
	if s.since++; s.since < refresh || len(s.samples) < 2*refresh {
		return false
	}
	before := s.period
	s.since, s.period = 0, period(s.samples)
	return s.period != before
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// period is the lag at which the autocorrelation of the samples less their line is
// highest, after it has first fallen below zero; 0 where it is low everywhere.
func period(y []float64) int {
	n := float64(len(y))
	middle, height := (n-1)/2, mean(y)
	var xy, xx, variance float64
	for i, v := range y {
		xy += (float64(i) - middle) * (v - height)
		xx += (float64(i) - middle) * (float64(i) - middle)
	}
	rest := make([]float64, len(y))
	for i, v := range y {
		rest[i] = v - height - xy/xx*(float64(i)-middle)
		variance += rest[i] * rest[i]
	}
	best, lagOfBest, fell := 0.5, 0, false
	for lag := 2; lag <= len(rest)/2 && variance > 0; lag++ {
		sum := 0.0
		for i := lag; i < len(rest); i++ {
			sum += rest[i] * rest[i-lag]
		}
		r := sum / variance * n / (n - float64(lag))
		fell = fell || r < 0
		if fell && r > best {
			best, lagOfBest = r, lag
		}
	}
	return lagOfBest
}

// winters is the additive method of Holt and Winters (FPP3 8.3), with the period that the
// last samples show; where they show none it is Holt's. With another period it learns the
// seasons anew from those samples.
type winters struct {
	plain *holt
	ahead int
	recent
	at           int // of the newest sample within the seasons
	level, trend float64
	seasons      []float64
}

func (s *winters) observe(y float64) {
	s.plain.observe(y)
	if s.add(y) && s.period > 0 {
		s.learn()
	} else if s.period > 0 {
		s.smooth(y)
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
func (s *winters) learn() {
	first, next := mean(s.samples[:s.period]), mean(s.samples[s.period:2*s.period])
	s.trend = (next - first) / float64(s.period)
	s.seasons = make([]float64, s.period)
	for i := range s.seasons {
		s.seasons[i] = s.samples[i] - first - s.trend*(float64(i)-float64(s.period-1)/2)
	}
	s.level, s.at = first+s.trend*float64(s.period-1)/2, s.period-1
	for _, y := range s.samples[s.period:] {
		s.smooth(y)
	}
}

func (s *winters) change() float64 {
	if s.period == 0 {
		return s.plain.change()
	}
	return s.level + float64(s.ahead)*s.trend + s.seasons[(s.at+s.ahead)%s.period] - s.samples[len(s.samples)-1]
}
