package cell

import "time"

// Moment is the time from which a panel measures ages.
type Moment time.Time

// Since returns how long ago t was, never negative, in whole seconds of the wall clock, so that ages change
// together, once a second.
func (m Moment) Since(t time.Time) time.Duration {
	return time.Duration(max(time.Time(m).Unix()-t.Unix(), 0)) * time.Second
}

// Clock returns the time of t, with the day if that is not today; of the distant past, the date alone.
func (m Moment) Clock(t time.Time) string {
	now := time.Time(m)
	t = t.In(now.Location())
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format(time.TimeOnly)
	case m.Since(t) < 300*24*time.Hour:
		return t.Format("Jan 2 15:04:05")
	default:
		return t.Format(time.DateOnly)
	}
}
