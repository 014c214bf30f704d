package forecast

import "math"

// The damped Holt's parameters, per second.
const (
	holtAlpha = 0.8
	holtBeta  = 0.1 // β*: the share of the smoothed change that goes into the trend
	holtPhi   = 0.98
)

// holt is a damped local trend, ETS(A,Ad,N), in error-correction form (FPP3 8.7). Over
// Δ seconds the parameters are those of Δ seconds.
type holt struct {
	Level, Trend float64 // bytes; bytes per second
	Started      bool
}

// observe corrects the state by the error of its own forecast.
func (s *holt) observe(seconds, y float64) {
	if !s.Started {
		*s = holt{Level: y, Started: true}
		return
	}
	decay := math.Pow(holtPhi, seconds)
	predicted := s.Level + s.Trend*damped(decay)
	failed := y - predicted
	alpha := 1 - math.Pow(1-holtAlpha, seconds)
	beta := 1 - math.Pow(1-holtBeta, seconds)
	s.Level = predicted + alpha*failed
	s.Trend = settled(decay*s.Trend + alpha*beta*failed/seconds)
}

// at is the forecast at a horizon.
func (s *holt) at(horizon int) float64 {
	return s.Level + s.Trend*holtReach[horizon]
}

// holtReach is damped at the Horizons, computed once.
var holtReach = func() (reach [len(Horizons)]float64) {
	for i, h := range Horizons {
		reach[i] = damped(math.Pow(holtPhi, h.Seconds()))
	}
	return reach
}()

// damped is φ + φ² + … + φ^Δ, given φ^Δ: how far a damped trend leads in Δ seconds.
func damped(decay float64) float64 {
	return holtPhi * (1 - decay) / (1 - holtPhi)
}
