package cell

import "time"

// Moment is when a panel is drawn: what ages are measured from.
type Moment time.Time

// Since is how long ago t was, in whole seconds of the clock, never negative:
// clocks differ. Counted like this all ages on a screen turn over together, and
// a screen that is drawn ten times a second changes once.
func (m Moment) Since(t time.Time) time.Duration {
	return time.Duration(max(time.Time(m).Unix()-t.Unix(), 0)) * time.Second
}

// Clock writes when something was, with its day where that was not today.
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
