package forecast

import (
	"math"
	"slices"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// Until a level of the series has been reached, the interval comes from the noise of the course.
// Four of five new courses reach their level within it.
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

// A level is reached, or given up after three times the predicted time.
func TestArrivalIsScoredWhenItIsReachedOrOverdue(t *testing.T) {
	for _, c := range []struct {
		seconds int64
		y       float64
		late    float32 // minutes
		scored  bool
	}{{30, 10, -0.5, true}, {60, 10, 0, true}, {60, 9, 0, false}, {179, 9, 0, false}, {180, 9, 2, true}} {
		a := arrivals{Size: 1}
		a.Pending[0] = arrival{Level: 10, Takes: float32(minute)}
		a.settle(c.seconds*1e9, c.y)
		if (a.Errors.Size == 1) != c.scored || (a.Size == 0) != c.scored || a.Errors.Ring[0] != c.late {
			t.Errorf("%+v: %d pending, %d scored, %v minutes late", c, a.Size, a.Errors.Size, a.Errors.Ring[0])
		}
	}
}

// Levels above the noise are kept, one every ten seconds, in turn for one, two and five minutes ahead.
func TestLevelsAreKeptInTurn(t *testing.T) {
	for rise, want := range map[float64][]float32{mebibyte: nil, mebibyte + 1: {120, 300, 60, 120}} {
		var s state
		for i := range s.Outlook {
			s.Outlook[i].Rise = rise
		}
		var got []float32
		for ; s.Now < 40e9; s.Now += 1e9 {
			s.Arrivals.promise(&s)
		}
		for _, p := range s.Arrivals.Pending[:s.Arrivals.Size] {
			got = append(got, p.Takes)
		}
		if !slices.Equal(got, want) {
			t.Errorf("a rise of %v bytes: kept %v, want %v", rise, got, want)
		}
	}
}

// From the ninth arrival the interval comes from the series' own arrivals.
func TestPunctualityIsOfItsOwnArrivals(t *testing.T) {
	var s state
	for i := range int64(9) {
		if early, late := s.punctuality(10); early != -10*unsure || late != 10*unsure {
			t.Errorf("after %d arrivals: %v to %v minutes", i, early, late)
		}
		s.Arrivals.Errors.add(i, 0, 0, 1)
	}
	if early, late := s.punctuality(10); early != 0 || late != 1 {
		t.Errorf("after 9, each a minute late: %v to %v minutes", early, late)
	}
}
