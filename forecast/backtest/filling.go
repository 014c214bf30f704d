package backtest

import (
	"math"
	"slices"
	"time"
)

// The alarm for methods that raise none themselves, and the scoring of alarms.
const (
	alarmWithin = 300 * time.Second // the median time to full below which an alarm is raised
	raiseAfter  = 3                 // an alarm is raised after this many samples in a row
	lowerAfter  = 5
	rightWithin = 2  // an alarm is right if the series is full within this many times alarmWithin, or an Alarmer's Within
	apart       = 60 // seconds without being full before a series counts as full again
)

// bands are the true times to full, in seconds, for which forecasts are scored.
var bands = [...][2]float64{{60, 300}, {300, 900}}

// Filling is the score of alarms and times to full.
type Filling struct {
	Known  bool // whether the total is known at all
	Fills  int  // how often the series became full
	Alarms int  // alarms raised while the series was not full
	Right  int  // alarms that came true
	Open   int  // alarms that the trace is too short to judge
	Leads  []float64
	Raised []float64 // when each alarm was raised, in t_seconds
	Bands  [len(bands)]TimeToFull
}

// TimeToFull sums up the times to full in one band.
type TimeToFull struct {
	Asked    int       // samples from which the series became full within the band
	Answered int       // samples of these for which the method gave a time
	Covered  int       // answers whose interval holds the true time
	Errors   []float64 // the median relative error of each fill; no answer counts as an error of 1
}

// filling scores the alarms and times to full of a replay.
type filling struct {
	series *Series
	fills  []int // the samples at which the series becomes full
	own    bool  // the method raises alarms itself
	right  float64
	Filling

	next     int // the index of the next fill
	hits     int
	misses   int
	standing bool
	errors   [len(bands)][]float64 // the errors of the present fill
}

func newFilling(s *Series, m Method) *filling {
	f := &filling{series: s, right: rightWithin * alarmWithin.Seconds()}
	if a, ok := m.(Alarmer); ok {
		f.own, f.right = true, rightWithin*a.Within().Seconds()
	}
	clear := math.Inf(-1) // since when the series has not been full; −∞: every sample was full
	full := true
	for i := range s.Samples {
		sample := &s.Samples[i]
		f.Known = f.Known || sample.Total > 0
		switch now := isFull(sample); {
		case now && !full && sample.Seconds-clear >= apart:
			f.fills = append(f.fills, i)
			full = true
		case now:
			full = true
		case full:
			full, clear = false, sample.Seconds
		}
	}
	f.Fills = len(f.fills)
	return f
}

func isFull(s *Sample) bool { return s.Total > 0 && s.Used >= s.Total-tolerance }

func (f *filling) observe(i int, answer *Answer) {
	sample := &f.series.Samples[i]
	for f.next < len(f.fills) && f.fills[f.next] <= i {
		f.close()
		f.next++
	}
	if f.next < len(f.fills) && !isFull(sample) {
		f.compare(f.series.Samples[f.fills[f.next]].Seconds-sample.Seconds, answer)
	}
	stood := f.standing
	if f.own {
		f.standing = answer.Alarm
	} else {
		f.latch(answer)
	}
	if f.standing && !stood && !isFull(sample) {
		f.Raised = append(f.Raised, sample.Seconds)
	}
}

// latch applies hysteresis to the alarm of a method that raises none itself.
func (f *filling) latch(answer *Answer) {
	if answer.Fills && answer.Full.Median < alarmWithin {
		f.hits, f.misses = f.hits+1, 0
	} else {
		f.hits, f.misses = 0, f.misses+1
	}
	f.standing = f.hits >= raiseAfter || f.standing && f.misses < lowerAfter
}

// compare scores a time to full against the true one.
func (f *filling) compare(left float64, answer *Answer) {
	for k, band := range bands {
		if left < band[0] || left > band[1] {
			continue
		}
		b := &f.Bands[k]
		b.Asked++
		if !answer.Fills {
			f.errors[k] = append(f.errors[k], 1)
			continue
		}
		b.Answered++
		f.errors[k] = append(f.errors[k], math.Abs(answer.Full.Median.Seconds()-left)/left)
		if full := answer.Full; full.Earliest.Seconds() <= left && (full.Latest == 0 || left <= full.Latest.Seconds()) {
			b.Covered++
		}
	}
}

func (f *filling) close() {
	for k := range f.errors {
		if len(f.errors[k]) > 0 {
			f.Bands[k].Errors = append(f.Bands[k].Errors, median(f.errors[k]))
			f.errors[k] = f.errors[k][:0]
		}
	}
}

func (f *filling) score() Filling {
	f.Alarms = len(f.Raised)
	led := make([]bool, len(f.fills))
	end := f.series.Samples[len(f.series.Samples)-1].Seconds
	for _, at := range f.Raised {
		k := slices.IndexFunc(f.fills, func(i int) bool {
			t := f.series.Samples[i].Seconds
			return t >= at && t <= at+f.right
		})
		switch {
		case k >= 0:
			f.Right++
			if !led[k] {
				led[k] = true
				f.Leads = append(f.Leads, f.series.Samples[f.fills[k]].Seconds-at)
			}
		case at+f.right > end:
			f.Open++
		}
	}
	return f.Filling
}

// median returns NaN if v is empty. It sorts v.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
