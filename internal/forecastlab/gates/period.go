package main

// recent is the last samples of a series, and the period that they show.
type recent struct {
	samples []float64
	period  int // samples; 0: none
	since   int // samples since the last search for one
}

// add takes a sample.
func (s *recent) add(y float64) {
	const window, refresh = 600, 60
	s.samples = append(s.samples, y)
	s.samples = s.samples[max(len(s.samples)-window, 0):]
	if s.since++; s.since >= refresh && len(s.samples) >= 2*refresh {
		s.since, s.period = 0, period(s.samples)
	}
}

func average(v []float64) float64 {
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
	middle, height := (n-1)/2, average(y)
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
