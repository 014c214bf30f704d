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
	epoch time.Time // the first sample's; the state's times count from here
	state state
}

// state is all that a Forecaster remembers and saves, in fields of fixed size.
type state struct {
	Count       int64
	Now         int64   // the newest sample's time, ns since the epoch
	Last        float64 // the newest sample, bytes
	Step        float64 // the usual time between samples, seconds
	Roughness   float64 // the usual change, bytes per √second
	Began       int64   // when the present job did, ns since the epoch
	Gap         bool
	Without     Part // the parts that are left out
	Quick       regression
	Short       regression
	Long        regression
	Auto        autoregression
	Changepoint changepoint
	Still       bool    // the newest sample equals the one before
	PeriodEnds  int64   // ns
	Course      float64 // the slope of a new course that leads up, bytes per second; 0: there is none
	Crest       float64 // how far peaks of a sawtooth rise above the long line, bytes
	Records     [len(Horizons)]record
	Outlook     [len(Horizons)]outlook
	Minima      minima
	Sawtooth    sawtooth
	Seasons     seasons
}

// New returns a Forecaster without samples.
func New() *Forecaster { return new(Forecaster) }

// clockSetBack is how much earlier than the last a sample is after a clock was set back.
const clockSetBack = time.Minute

// farAway, in ns, is 146 years. Beyond it sums of times would overflow.
const farAway = 1 << 62

// Observe takes the next sample, in bytes; below zero counts as zero. Samples may
// come at any interval. One that is not later than the last is ignored, unless it
// is a minute earlier or more: then the clock was set back, and the sample follows
// the last one after a gap.
func (f *Forecaster) Observe(t time.Time, y int64) {
	s := &f.state
	value := float64(max(y, 0))
	if s.Count == 0 {
		f.epoch = t
		s.begin(value)
		return
	}
	now := int64(t.Sub(f.epoch))
	switch {
	case now > farAway:
		return
	case now <= s.Now-int64(clockSetBack):
		s.Gap = true
		now = s.Now + int64(max(min(s.Step, clockSetBack.Seconds()), 1e-9)*1e9)
		f.epoch = t.Add(-time.Duration(now))
	case now <= s.Now:
		return
	}
	s.observe(now, value)
}

// Gap says that nothing is known from t until the next sample: forecasts that come
// due in between are not compared with that sample.
func (f *Forecaster) Gap(t time.Time) {
	if s := &f.state; s.Count > 0 && int64(t.Sub(f.epoch)) >= s.Now {
		s.Gap = true
	}
}

func (s *state) begin(y float64) {
	s.Count, s.Last = 1, y
	s.Short.observe(0, 0)
	s.Long.observe(0, 0)
	s.Quick.observe(0, 0)
	s.Minima.Lowest, s.Minima.WindowEnd = y, int64(windowLength)
	s.Sawtooth.Extreme = y
}

func (s *state) observe(now int64, y float64) {
	seconds := float64(now-s.Now) / 1e9
	change := y - s.Last
	if s.Count == 1 {
		s.Step = min(seconds, 3600)
	}
	share := 1 / float64(min(s.Count, MinSamples))
	s.Roughness += share * (math.Abs(change)/math.Sqrt(seconds) - s.Roughness)

	for i := range s.Records {
		h := Horizons[i].Seconds()
		// Long enough for several forecasts to count, however rare they are.
		halfLife := max(120, 1.5*h, 60*s.Step)
		s.Records[i].settle(now, y, h, halfLife, s.Gap)
	}
	anew := s.Without&PartRestart == 0 && restarted(s.Last, y)
	if anew {
		s.forget(now, y)
	}
	s.Short.observe(seconds/shortTau, change)
	s.Long.observe(seconds/longTau, change)
	long := max(meanTau, meanSamples*s.Step)
	if anew || s.Gap {
		s.Auto.move(seconds/long, change)
	} else {
		s.Auto.observe(seconds/long, change)
	}
	s.Quick.observe(seconds/quickTau(s.Step), change)
	if !s.Gap { // a gap is not the usual time between samples
		s.Step += share * (min(seconds, 4*s.Step) - s.Step)
	}
	if top, ok := s.Sawtooth.observe(now, y); ok {
		s.Seasons.peaked(top)
	}
	s.Seasons.observe(now, y, s.Step)
	s.Minima.observe(now, y, s.Step, &s.Sawtooth, &s.Long)

	nearest := s.nearest()
	heading := s.Changepoint.observe(now, s.Now, y, s.Last, &s.Records[nearest], Horizons[nearest].Seconds(), &s.Seasons)
	s.Count++
	s.Now, s.Last, s.Gap, s.Still = now, y, false, math.Abs(change) < mebibyte
	s.look(seconds, heading)
}

// restarted reports whether memory has fallen to nearly nothing or risen from it:
// one job has ended, or another has begun.
func restarted(before, y float64) bool {
	const nothing = 0.05
	return max(before, y) >= 1024*mebibyte && min(before, y) < nothing*max(before, y)
}

// forget drops what was known of the job before: its drift, its sawtooth, and how
// far claims came true. The sizes of errors are kept: jobs end and begin again.
func (s *state) forget(now int64, y float64) {
	s.Quick, s.Short, s.Long, s.Crest = regression{}, regression{}, regression{}, 0
	s.Auto, s.Changepoint = autoregression{}, changepoint{}
	s.Sawtooth = sawtooth{Extreme: y, ExtremeAt: now}
	s.Seasons = seasons{}
	s.Minima = minima{Lowest: y, WindowEnd: now + int64(windowLength)}
	s.Began = now
	for i := range s.Records {
		s.Records[i].forget()
	}
}

// At is the forecast for h after the newest sample, interpolated between the Horizons.
// It is false for fewer than MinSamples samples and for h outside (0, 15 min].
func (f *Forecaster) At(h time.Duration) (Interval, bool) {
	if f.state.Count < MinSamples || h <= 0 || h > Horizons[len(Horizons)-1] {
		return Interval{}, false
	}
	i := 0
	for h > Horizons[i] {
		i++
	}
	o := f.state.Outlook[i]
	if h < Horizons[i] {
		var from outlook
		var start time.Duration
		if i > 0 {
			from, start = f.state.Outlook[i-1], Horizons[i-1]
		}
		o = from.toward(o, float64(h-start)/float64(Horizons[i]-start))
	}
	return f.state.interval(h, o), true
}

// Forecasts appends the forecasts at all Horizons, none for fewer than MinSamples.
func (f *Forecaster) Forecasts(dst []Interval) []Interval {
	if f.state.Count < MinSamples {
		return dst
	}
	for i, h := range Horizons {
		dst = append(dst, f.state.interval(h, f.state.Outlook[i]))
	}
	return dst
}

func (s *state) interval(h time.Duration, o outlook) Interval {
	at := func(spread float64) int64 { return bytes(s.Last + o.Change + spread) }
	return Interval{
		Horizon: h, Median: at(0),
		Lower80: at(o.Spread.Lower80), Upper80: at(o.Spread.Upper80),
		Lower95: at(min(o.Spread.Lower95, o.Spread.Lower80)), Upper95: at(max(o.Spread.Upper95, o.Spread.Upper80)),
	}
}

// bytes rounds to a possible amount of memory.
func bytes(v float64) int64 {
	switch {
	case !(v > 0):
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	default:
		return int64(math.Round(v))
	}
}
