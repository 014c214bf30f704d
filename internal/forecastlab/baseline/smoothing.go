package baseline

import "math"

// holt is Holt's linear trend (FPP3 8.2), damped where φ < 1; with β* = 0 it is
// simple exponential smoothing (FPP3 8.1).
type holt struct {
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

func newSES() *holt { return newHolt([]float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95}, []float64{0}, 1) }

func newTrend(phis ...float64) *holt {
	return newHolt([]float64{0.1, 0.3, 0.6, 0.9}, []float64{0.02, 0.1, 0.3}, phis...)
}

func newHolt(alphas, betas []float64, phis ...float64) *holt {
	s := &holt{}
	for _, phi := range phis {
		for _, alpha := range alphas {
			for _, beta := range betas {
				s.grid = append(s.grid, smoother{alpha: alpha, beta: beta, phi: phi})
			}
		}
	}
	return s
}

func (s *holt) observe(_, y float64) {
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
	}
	s.best = 0
	for i := range s.grid {
		if s.grid[i].sse < s.grid[s.best].sse {
			s.best = i
		}
	}
	s.begun, s.last = true, y
}

func (s *holt) change(seconds, step float64) float64 {
	m := &s.grid[s.best]
	return m.level + damped(m.phi, seconds/step)*m.trend - s.last
}

// damped is φ + φ² + … over so many steps.
func damped(phi, steps float64) float64 {
	if phi == 1 {
		return steps
	}
	return phi * (1 - math.Pow(phi, steps)) / (1 - phi)
}
