package ui

import "time"

// moment is when a panel is drawn: what ages are measured from.
type moment time.Time

// since is how long ago t was, in whole seconds of the clock, never negative:
// clocks differ. Counted like this all ages on a screen turn over together, and
// a screen that is drawn ten times a second changes once.
func (m moment) since(t time.Time) time.Duration {
	return time.Duration(max(time.Time(m).Unix()-t.Unix(), 0)) * time.Second
}

// clock writes when something was, with its day where that was not today.
func (m moment) clock(t time.Time) string {
	now := time.Time(m)
	t = t.In(now.Location())
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format(time.TimeOnly)
	case m.since(t) < 300*24*time.Hour:
		return t.Format("Jan 2 15:04:05")
	default:
		return t.Format(time.DateOnly)
	}
}
