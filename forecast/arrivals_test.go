package forecast

import (
	"math"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// Until a series has arrived anywhere, four of five new courses arrive within the
// interval that their own noise gives.
func TestNewCourseArrivesWithinItsDoubt(t *testing.T) {
	const minutes, samples, rise, courses = 10, 40, 0.15, 2000
	r := regime.Seeded(31)
	within := 0
	for range courses {
		line, last := oneSample, r.NormFloat64()*gib
		for i := 1; i < samples; i++ {
			y := rise*gib*float64(i) + r.NormFloat64()*gib
			line.observe(1e-4, y-last)
			last = y
		}
		s := state{Course: course{Announced: true, Line: line}}
		_, late := s.punctuality(minutes)
		slope := line.line(1e4).slope
		if math.Abs(rise*gib-slope) <= late/minutes*slope {
			within++
		}
	}
	if share := float64(within) / courses; math.Abs(share-0.8) > 0.03 {
		t.Errorf("%.3f of new courses arrive in time, want 0.8", share)
	}
}
