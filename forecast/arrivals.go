package forecast

import "math"

// arrivals compares when the series reached a level with when the median path predicted it. Errors
// are in minutes: they depend little on how far away the level was.
type arrivals struct {
	Pending [len(Horizons)]arrival
	Size    uint8
	Turn    uint8 // which of three horizons was used last
	Errors  residuals
}

// arrival is a level, and in how many seconds the series should reach it.
type arrival struct {
	Made         int64 // ns
	Level, Takes float32
}

// settle scores the levels that have been reached or are overdue.
func (a *arrivals) settle(now int64, y float64) {
	kept := a.Pending[:0]
	for _, p := range a.Pending[:a.Size] {
		minutes := float64(p.Takes) / minute
		passed := float64(now-p.Made) / 60e9 / minutes
		if y < float64(p.Level) && passed < neverArrives {
			kept = append(kept, p)
		} else {
			a.Errors.add(now, 0, 0, (passed-1)*minutes)
		}
	}
	a.Size = uint8(len(kept))
}

// promise keeps a level of the path that lies above the noise: one, two and five minutes ahead in
// turn.
func (a *arrivals) promise(s *state) {
	if int(a.Size) == len(a.Pending) || a.Size > 0 && s.Now-a.Pending[a.Size-1].Made < int64(Horizons[0]) {
		return
	}
	a.Turn = (a.Turn + 1) % 3
	at := 2 + a.Turn
	if rise := s.Outlook[at].Rise; rise > max(float64(s.Outlook[0].Spread.Upper80), mebibyte) {
		a.Pending[a.Size] = arrival{s.Now, float32(s.Last + rise), float32(Horizons[at].Seconds())}
		a.Size++
	}
}

// punctuality returns how many minutes early (≤ 0) or late the series may reach a level that it
// should reach in the given minutes. While few arrivals are known, it uses the lower of unsure and the
// error of a new course's slope.
func (s *state) punctuality(minutes float64) (early, late float64) {
	if e := &s.Arrivals.Errors; e.Size >= enoughResiduals {
		return float64(e.Spread.Lower80), float64(e.Spread.Upper80)
	}
	doubt := unsure
	if c := &s.Course; c.Announced {
		explained := c.Line.line(longTau).explained
		doubt = min(doubt, math.Sqrt2*math.Erfinv(level)*math.Sqrt((1-explained)/explained/max(c.Line.N-2, 1)))
	}
	return -doubt * minutes, doubt * minutes
}
