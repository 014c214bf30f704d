package baseline

import "math"

// holt is Holt's linear trend (FPP3 8.2), damped where φ < 1; with β* = 0 it is
// simple exponential smoothing (FPP3 8.1).
type holt struct {
	ahead float64 // samples
	grid  []smoother
	best  int // of the grid, with the least error so far
	last  float64
	begun bool
}

// smoother is the method with one set of parameters.
type smoother struct {
	alpha, beta, phi float64
	level, trend     float64
	sse              float64 // of its forecasts so far
}

func newTrend(ahead int, phis ...float64) *holt {
	return newHolt(ahead, []float64{0.1, 0.3, 0.6, 0.9}, []float64{0.02, 0.1, 0.3}, phis...)
}

func newHolt(ahead int, alphas, betas []float64, phis ...float64) *holt {
	s := &holt{ahead: float64(ahead)}
	for _, phi := range phis {
		for _, alpha := range alphas {
			for _, beta := range betas {
				s.grid = append(s.grid, smoother{alpha: alpha, beta: beta, phi: phi})
			}
		}
	}
	return s
}

func (s *holt) observe(y float64) {
	for i := range s.grid {
		m := &s.grid[i]
		if !s.begun {
			m.level = y
			continue
		}
		expected := m.level + m.phi*m.trend
		miss := y - expected
		m.sse += miss * miss
		m.level = expected + m.alpha*miss
		m.trend = m.phi*m.trend + m.alpha*m.beta*miss
		if m.sse < s.grid[s.best].sse {
			s.best = i
		}
	}
	s.begun, s.last = true, y
}

func (s *holt) change() float64 {
	m := &s.grid[s.best]
	steps := s.ahead // or φ + φ² + … over so many
	if m.phi != 1 {
		steps = m.phi * (1 - math.Pow(m.phi, s.ahead)) / (1 - m.phi)
	}
	return m.level + steps*m.trend - s.last
}
