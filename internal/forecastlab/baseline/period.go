package baseline

const (
	// The period is searched for in the last window samples, after every refresh.
	window  = 600
	refresh = 60

	minCorrelation = 0.5 // autocorrelation of a period
)

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// period is the lag at which the autocorrelation of the detrended samples is
// highest, after it has first fallen below zero; 0 where it is low everywhere.
func period(y []float64) int {
	rest := detrended(y)
	variance := 0.0
	for _, v := range rest {
		variance += v * v
	}
	if variance == 0 {
		return 0
	}
	best, lagOfBest, fell := minCorrelation, 0, false
	for lag := 2; lag <= len(rest)/2; lag++ {
		sum := 0.0
		for i := lag; i < len(rest); i++ {
			sum += rest[i] * rest[i-lag]
		}
		r := sum / variance * float64(len(rest)) / float64(len(rest)-lag)
		fell = fell || r < 0
		if fell && r > best {
			best, lagOfBest = r, lag
		}
	}
	return lagOfBest
}

// detrended is the samples minus their least-squares line.
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
