package baseline

import "math"

// ses is simple exponential smoothing (FPP3 8.1).
type ses struct {
	alpha []float64
	level []float64
	sse   []float64
	last  float64
	begun bool
}

func newSES() *ses {
	s := &ses{alpha: []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95}}
	s.level, s.sse = make([]float64, len(s.alpha)), make([]float64, len(s.alpha))
	return s
}

func (s *ses) observe(_, y float64) {
	for i, alpha := range s.alpha {
		if !s.begun {
			s.level[i] = y
			continue
		}
		wrong := y - s.level[i]
		s.sse[i] += wrong * wrong
		s.level[i] += alpha * wrong
	}
	s.begun, s.last = true, y
}

func (s *ses) change(_, _ float64) float64 { return s.level[least(s.sse)] - s.last }

// least is where the smallest is.
func least(v []float64) int {
	best := 0
	for i := range v {
		if v[i] < v[best] {
			best = i
		}
	}
	return best
}

// holt is Holt's linear trend (FPP3 8.2), damped where φ < 1.
type holt struct {
	alpha, beta, phi []float64
	level, trend     []float64
	sse              []float64
	last             float64
	begun            bool
}

func newHolt(phis ...float64) *holt {
	s := &holt{}
	for _, phi := range phis {
		for _, alpha := range []float64{0.1, 0.3, 0.6, 0.9} {
			for _, beta := range []float64{0.02, 0.1, 0.3} { // β*
				s.alpha, s.beta, s.phi = append(s.alpha, alpha), append(s.beta, beta), append(s.phi, phi)
			}
		}
	}
	n := len(s.alpha)
	s.level, s.trend, s.sse = make([]float64, n), make([]float64, n), make([]float64, n)
	return s
}

func (s *holt) observe(_, y float64) {
	for i := range s.alpha {
		if !s.begun {
			s.level[i] = y
			continue
		}
		expected := s.level[i] + s.phi[i]*s.trend[i]
		wrong := y - expected
		s.sse[i] += wrong * wrong
		s.level[i] = expected + s.alpha[i]*wrong
		s.trend[i] = s.phi[i]*s.trend[i] + s.alpha[i]*s.beta[i]*wrong
	}
	s.begun, s.last = true, y
}

func (s *holt) change(seconds, step float64) float64 {
	i := least(s.sse)
	return s.level[i] + damped(s.phi[i], seconds/step)*s.trend[i] - s.last
}

// damped is φ + φ² + … over so many steps.
func damped(phi, steps float64) float64 {
	if phi == 1 {
		return steps
	}
	return phi * (1 - math.Pow(phi, steps)) / (1 - phi)
}
