package forecast

import (
	"math"
	"slices"
	"time"
)

// score is how good the forecasts of one series were.
type score struct {
	loss, naive       [len(Horizons)]float64 // mean absolute errors, bytes
	within80          [len(Horizons)]float64 // shares
	within95          [len(Horizons)]float64
	scored            [len(Horizons)]int
	alarms, rightful  int     // "full within 300 s", raised after three samples, down after five
	lead              float64 // seconds from the first rightful alarm to the end; 0: none
	anyFull           int     // samples at which FullIn said anything
	fullErrors        []float64
	fullCovered, full int
	trends            map[Trend]int
	leakRate          float64
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// scored replays y, a sample every step seconds. The series is full at its end
// if it ends at capacity.
func scored(y []float64, step float64) *score {
	s := &score{trends: make(map[Trend]int)}
	f := New()
	room := make([]Interval, 0, len(Horizons))
	filled := y[len(y)-1] >= capacity
	end := float64(len(y)-1) * step
	hits, misses, standing := 0, 0, false
	for i, v := range y {
		now := float64(i) * step
		f.Observe(noon.Add(time.Duration(now*1e9)), int64(v))
		s.trends[f.Trend()]++
		if rate, ok := f.GrowthPerSecond(); ok && f.Trend() == Leak {
			s.leakRate = rate
		}
		for k, in := range f.Forecasts(room[:0]) {
			s.compare(k, in, y, i, step)
		}

		full, ok := f.FullIn(int64(capacity - v))
		if ok {
			s.anyFull++
		}
		left := end - now
		if filled && left >= 60 && left <= 300 {
			s.full++
			if ok {
				s.fullErrors = append(s.fullErrors, math.Abs(full.Median.Seconds()-left)/left)
				if full.Earliest.Seconds() <= left && (full.Latest == 0 || left <= full.Latest.Seconds()) {
					s.fullCovered++
				}
			} else {
				s.fullErrors = append(s.fullErrors, 1)
			}
		}
		if ok && full.Median < 300*time.Second {
			hits, misses = hits+1, 0
		} else {
			hits, misses = 0, misses+1
		}
		switch {
		case !standing && hits >= 3:
			standing = true
			s.alarms++
			if filled && left <= 600 {
				s.rightful++
				if s.lead == 0 {
					s.lead = left
				}
			}
		case standing && misses >= 5:
			standing = false
		}
	}
	for k, n := range s.scored {
		if n > 0 {
			s.loss[k] /= float64(n)
			s.naive[k] /= float64(n)
			s.within80[k] /= float64(n)
			s.within95[k] /= float64(n)
		}
	}
	return s
}

// compare holds a forecast against the first sample at or after its time.
func (s *score) compare(k int, in Interval, y []float64, i int, step float64) {
	h := in.Horizon.Seconds()
	ahead := int(math.Ceil(h/step - 1e-9))
	if i+ahead >= len(y) || float64(ahead)*step-h > h/2+1 {
		return
	}
	came := y[i+ahead]
	s.scored[k]++
	s.loss[k] += math.Abs(came - float64(in.Median))
	s.naive[k] += math.Abs(came - y[i])
	if float64(in.Lower80)-mib <= came && came <= float64(in.Upper80)+mib {
		s.within80[k]++
	}
	if float64(in.Lower95)-mib <= came && came <= float64(in.Upper95)+mib {
		s.within95[k]++
	}
}

// relative is the forecast's mean error over the naive one's at a horizon.
func (s *score) relative(k int) float64 { return (s.loss[k] + mib) / (s.naive[k] + mib) }

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
