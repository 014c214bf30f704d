package forecast

const (
	// minSwing is the share of the level from which a rise or fall counts.
	minSwing = 0.02

	// turnCap is how many turning points are remembered.
	turnCap = 8
)

// sawtooth finds rises and falls by their turning points.
type sawtooth struct {
	Turns     [turnCap]int64 // a ring: when the series turned, ns
	Next      uint8
	Size      uint8
	Up        bool
	Extreme   float64 // the height of the present rise or fall, bytes
	ExtremeAt int64   // ns
}

// observe records a turn when the series has come back by minSwing: true for a peak.
func (t *sawtooth) observe(now int64, y float64) (top peak, ok bool) {
	size := max(minSwing*max(y, t.Extreme), least)
	ahead := y - t.Extreme
	if !t.Up {
		ahead = -ahead
	}
	switch {
	case ahead >= 0:
		t.Extreme, t.ExtremeAt = y, now
	case ahead < -size:
		top, ok = peak{At: t.ExtremeAt, Height: t.Extreme}, t.Up
		t.Turns[t.Next] = t.ExtremeAt
		t.Next = (t.Next + 1) % turnCap
		t.Size = min(t.Size+1, turnCap)
		t.Up = !t.Up
		t.Extreme, t.ExtremeAt = y, now
	}
	return top, ok
}

// last is the times of the first and the last of the newest n turns.
func (t *sawtooth) last(n int) (from, to int64) {
	at := func(back int) int64 { return t.Turns[(int(t.Next)+turnCap-back)%turnCap] }
	return at(n), at(1)
}

// recur reports whether the series goes up and down: at least four turns within a
// quarter of an hour or forty samples, and the next one not long overdue.
func (t *sawtooth) recur(now int64, step float64) bool {
	const turns = 4
	if t.Size < turns+1 { // the first is where the series began
		return false
	}
	from, to := t.last(turns)
	longest := int64(max(900, 40*step) * 1e9)
	usual := (to - from) / (turns - 1)
	return now-from < longest+2*usual && now-to < 3*usual+int64(10e9)
}

// period is the length of a cycle in nanoseconds, 0 without a sawtooth.
func (t *sawtooth) period(now int64, step float64) int64 {
	if !t.recur(now, step) {
		return 0
	}
	n := int(t.Size)
	from, to := t.last(n)
	return 2 * (to - from) / int64(n-1)
}
