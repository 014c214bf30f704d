package forecast

import "math"

// Trend is what a series does.
type Trend uint8

// The trends.
const (
	Young     Trend = iota // too few samples to say
	Steady                 // none of the others
	Growing                // goes up, but not (or not yet) as a leak does
	Shrinking              // goes down
	Sawtooth               // goes up and down again and again
	Leak                   // what it never gives back grows, and does not slow down
)

func (t Trend) String() string {
	return [...]string{"young", "steady", "growing", "shrinking", "sawtooth", "leak"}[t]
}

// Trend says what the series does now.
func (f *Forecaster) Trend() Trend {
	trend, _ := f.state.trend()
	return trend
}

// GrowthPerSecond is by how many bytes per second a series grows that is
// Growing, Shrinking (then it is negative) or a Leak; false: it does none of
// these. A leak's is that of what it never gives back.
func (f *Forecaster) GrowthPerSecond() (bytes float64, ok bool) {
	switch trend, rate := f.state.trend(); trend {
	case Growing, Shrinking, Leak:
		return rate, true
	default:
		return 0, false
	}
}

func (s *state) trend() (Trend, float64) {
	switch {
	case s.Count < MinSamples:
		return Young, 0
	case s.Tendencies.Leaking:
		return Leak, s.Tendencies.LeakRate
	case s.Tendencies.sawtooth(s.Now, s.Step):
		return Sawtooth, 0
	}
	rate := slope(&s.Short, shortTau, s.Last)
	if rate == 0 {
		rate = slope(&s.Long, longTau, s.Last)
	}
	switch {
	case rate > 0:
		return Growing, rate
	case rate < 0:
		return Shrinking, rate
	default:
		return Steady, 0
	}
}

// slope is in bytes per second, and 0 unless a line says most of what the
// series does and makes more of it than 1 % within tau seconds.
func slope(r *regression, tau, level float64) float64 {
	l, ok := r.line()
	if !ok || l.explained < 0.85 || math.Abs(l.slope) < max(notable*level, 16*mebibyte) {
		return 0
	}
	if l.slowing && math.Abs(l.ahead(1)) < max(notable*level, 16*mebibyte) {
		return 0 // it has come to rest
	}
	return l.slope / tau
}

const (
	notable = 0.01 // the share of the level from which a change is one
	tooth   = 0.02 // the share of the level from which a rise or fall is a tooth
)

// turnCap is how many turning points are remembered.
const turnCap = 8

// tendencies is what the trend is read from: the minima of windows of time,
// and the turning points of rises and falls.
type tendencies struct {
	Minima    [windowCap]float64 // a ring: bytes
	Next      uint8
	Size      uint8
	Lowest    float64 // of the open window
	WindowEnd int64   // of the open window, ns

	Leaking  bool
	LeakRate float64 // bytes per second

	Turns     [turnCap]int64 // a ring: when the series turned, ns
	TurnNext  uint8
	TurnSize  uint8
	Up        bool
	Extreme   float64 // the height of the present rise or fall
	ExtremeAt int64   // ns
}

func (t *tendencies) begin(y float64) {
	t.Lowest, t.WindowEnd = y, int64(windowLength)
	t.Extreme = y
}

func (t *tendencies) observe(now int64, y, step float64) {
	t.turn(now, y)
	if now >= t.WindowEnd {
		t.close(now, step)
		t.Lowest = y
	}
	t.Lowest = min(t.Lowest, y)
}

// turn follows rises and falls that are larger than a tooth.
func (t *tendencies) turn(now int64, y float64) {
	size := max(tooth*max(y, t.Extreme), 16*mebibyte)
	ahead := y - t.Extreme
	if !t.Up {
		ahead = -ahead
	}
	switch {
	case ahead >= 0:
		t.Extreme, t.ExtremeAt = y, now
	case ahead < -size:
		t.Turns[t.TurnNext] = t.ExtremeAt
		t.TurnNext = (t.TurnNext + 1) % turnCap
		t.TurnSize = min(t.TurnSize+1, turnCap)
		t.Up = !t.Up
		t.Extreme, t.ExtremeAt = y, now
	}
}

// lastTurns is when the newest n turns began and ended.
func (t *tendencies) lastTurns(n int) (from, to int64) {
	at := func(back int) int64 { return t.Turns[(int(t.TurnNext)+turnCap-back)%turnCap] }
	return at(n), at(1)
}

// sawtooth reports whether the series goes up and down: four turns at least,
// within a quarter of an hour or, of rare samples, within forty, and the next
// not long overdue.
func (t *tendencies) sawtooth(now int64, step float64) bool {
	const turns = 4
	if t.TurnSize < turns+1 { // the first is where the series began
		return false
	}
	from, to := t.lastTurns(turns)
	longest := int64(max(900, 40*step) * 1e9)
	usual := (to - from) / (turns - 1)
	return now-from < longest+2*usual && now-to < 3*usual+int64(10e9)
}

// period is that of the teeth, in nanoseconds; 0 where there are none.
func (t *tendencies) period(now int64, step float64) int64 {
	if !t.sawtooth(now, step) {
		return 0
	}
	n := int(t.TurnSize)
	from, to := t.lastTurns(n)
	return 2 * (to - from) / int64(n-1)
}
