package quantity

import (
	"fmt"
	"strings"
	"time"
)

// Earlier returns the earlier of two moments.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two moments.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// momentLayouts are the ways to write a moment. A time without a date means the last such time.
var momentLayouts = []struct {
	layout string
	dated  bool
}{
	{time.RFC3339, true},
	{"2006-01-02 15:04:05", true}, {"2006-01-02 15:04", true}, {"2006-01-02T15:04:05", true}, {"2006-01-02T15:04", true},
	{"2006-01-02", true},
	{"15:04:05", false}, {"15:04", false},
}

// ParseMoment reads a moment in the time zone of newest: "2026-11-21 03:12",
// "2026-11-21T03:12:00Z", or "03:12", which means the last 03:12 that is not after newest.
func ParseMoment(text string, newest time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	for _, m := range momentLayouts {
		t, err := time.ParseInLocation(m.layout, text, newest.Location())
		if err != nil {
			continue
		}
		if m.dated {
			return t, nil
		}
		year, month, day := newest.Date()
		last := func(day int) time.Time {
			return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), newest.Location())
		}
		if t = last(day); t.After(newest) {
			t = last(day - 1)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%.40q is no time: write 03:12, '2026-11-21 03:12' or 2026-11-21T03:12:00Z", text)
}
