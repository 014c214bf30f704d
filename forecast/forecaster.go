package forecast

import (
	"math"
	"time"
)

// Horizons are the distances at which a forecast is made.
var Horizons = [...]time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
}

// Interval is a forecast in bytes: Lower95 ≤ Lower80 ≤ Median ≤ Upper80 ≤ Upper95.
type Interval struct {
	Horizon                                    time.Duration
	Median, Lower80, Upper80, Lower95, Upper95 int64
}

// MinSamples is how many samples a series needs before it is forecast.
const MinSamples = 20

// Forecaster follows one series of bytes. The zero value is ready for use. It is
// not safe for concurrent use.
type Forecaster struct {
	epoch time.Time // the first sample's time; the state's times count from here
	state state
}

// state is the memory of a Forecaster, in fields of fixed size.
type state struct {
	Count      int64
	Now, Began int64   // the newest sample's time, and when the present job began, ns since the epoch
	Last, Step float64 // the newest sample, bytes, and the usual time between samples, seconds
	Gap        bool
	Room       float32           // the bytes by which the series can still grow; 0: unknown
	Lines      [lines]regression // of the last seconds, minute and five minutes
	Auto       autoregression
	Course     course
	Top        peak // the highest of the last meanTau
	Arrivals   arrivals
	Outlook    [len(Horizons)]outlook
	Records    [len(Horizons)]record
	Lows       lows
	Pending    [len(Horizons)][pendingCap]promise // rings
	Seasons    seasons
}

// New returns a Forecaster without samples.
func New() *Forecaster { return new(Forecaster) }

// farAway is 146 years in ns, or as many bytes. Beyond it sums would overflow.
const farAway = math.MaxInt64 / 2

// Observe takes the next sample, in bytes; below zero counts as zero. It ignores a sample that is not
// later than the last one. But if a sample is a minute or more earlier, the clock was set back, and
// the sample follows the last one after a gap.
func (f *Forecaster) Observe(t time.Time, y int64) {
	s := &f.state
	if s.Count == 0 {
		f.epoch, s.Count = t, 1
		s.begin(0, float64(max(y, 0)))
		return
	}
	now := int64(t.Sub(f.epoch))
	switch {
	case now <= s.Now-60e9: // a clock was set back
		s.Gap, now = true, s.Now+int64(time.Second)
		f.epoch = t.Add(-time.Duration(now))
	case now <= s.Now, now > farAway:
		return
	}
	s.observe(now, float64(max(y, 0)))
}

// Gap marks the time from t until the next sample as unknown: a forecast that comes due in it is
// not compared with that sample.
func (f *Forecaster) Gap(t time.Time) {
	s := &f.state
	s.Gap = s.Gap || s.Count > 0 && int64(t.Sub(f.epoch)) >= s.Now
}

func (s *state) observe(now int64, y float64) {
	seconds, change := float64(now-s.Now)/1e9, y-s.Last
	if s.Count == 1 {
		s.Step = min(seconds, hour)
	} else if !s.Gap { // a gap is not the usual time between samples
		s.Step += (min(seconds, 2*s.Step) - s.Step) / float64(min(s.Count, MinSamples))
	}
	for i := range s.Records {
		h := Horizons[i].Seconds()
		// The half-life is long enough for several forecasts to count, however rare they are.
		s.Records[i].settle(&s.Pending[i], now, y, h, max(1.5*h, rare*s.Step), s.Gap)
	}
	s.Auto.observe(seconds/max(meanTau, rare*s.Step), change, !s.Gap)
	for i, tau := range [...]float64{s.quickTau(), shortTau, longTau} {
		s.Lines[i].observe(seconds/tau, change)
	}
	if higher := max(s.Last, y); higher >= minChange && min(s.Last, y) < remnant*higher {
		s.begin(now, y) // one job has ended, or another has begun
	}
	s.Arrivals.settle(now, y)
	s.Seasons.observe(now, y, s.Step)
	s.Lows.observe(now, y, s.Step)
	if y >= s.Top.Height || float64(now-s.Top.At) > meanTau*1e9 {
		s.Top = peak{now, y}
		for _, p := range s.Seasons.Peaks {
			if p.Height > s.Top.Height && float64(now-p.At) < meanTau*1e9 {
				s.Top = p
			}
		}
	}
	s.Count, s.Now, s.Last, s.Gap = s.Count+1, now, y, false
	s.look(seconds, change)
	s.Arrivals.promise(s)
}

// begin forgets the previous job, except the sizes of errors.
func (s *state) begin(now int64, y float64) {
	s.Began, s.Last = now, y
	s.Lines, s.Auto = [...]regression{oneSample, oneSample, oneSample}, autoregression{}
	s.Course, s.Seasons, s.Top = course{Since: now, Top: y}, seasons{}, peak{now, y}
	s.Lows, s.Arrivals = lows{Lowest: float32(y), Ends: now + 60e9}, arrivals{}
	for i := range s.Records {
		s.Records[i].Credits, s.Records[i].Shares = [experts]credit{}, [experts]float32{}
		for p := range s.Pending[i] { // when they are due their errors still count
			s.Pending[i][p].Claims = claims{}
		}
	}
}

// Excuse drops the forecasts that are not due yet: nothing could foresee the coming change, so it
// must not count against them.
func (f *Forecaster) Excuse() {
	for i := range f.state.Records {
		f.state.Records[i].Size = 0
	}
	f.state.Arrivals.Size = 0
}

// Forecasts appends the forecasts at all Horizons, or none with fewer than MinSamples.
func (f *Forecaster) Forecasts(dst []Interval) []Interval {
	if f.state.Count < MinSamples {
		return dst
	}
	for i, o := range f.state.Outlook {
		at := func(spread float32) int64 { return bytes(f.state.Last + o.Change + float64(spread)) }
		dst = append(dst, Interval{
			Horizon: Horizons[i], Median: at(0),
			Lower80: at(o.Spread.Lower80), Upper80: at(o.Spread.Upper80),
			Lower95: at(min(o.Spread.Lower95, o.Spread.Lower80)), Upper95: at(max(o.Spread.Upper95, o.Spread.Upper80)),
		})
	}
	return dst
}

// bytes rounds to a possible amount of memory.
func bytes(v float64) int64 {
	if !(v > 0) { // or NaN
		return 0
	}
	return int64(min(v, farAway) + 0.5) // math.Round is slower
}
