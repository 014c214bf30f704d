package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/text"
)

// moments are how times are written on the command line; those without a date mean
// the last such time.
var moments = []struct {
	layout string
	dated  bool
}{
	{time.RFC3339, true}, {"2006-01-02 15:04:05", true}, {"2006-01-02 15:04", true}, {"2006-01-02T15:04:05", true}, {"2006-01-02T15:04", true},
	{"2006-01-02", true}, {"15:04:05", false}, {"15:04", false},
}

// parseMoment reads a time as it was last before the newest one.
func parseMoment(s string, newest time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	for _, m := range moments {
		t, err := time.ParseInLocation(m.layout, s, newest.Location())
		if err != nil {
			continue
		}
		if m.dated {
			return t, nil
		}
		year, month, day := newest.Date()
		t = time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), 0, newest.Location())
		if t.After(newest) {
			t = t.AddDate(0, 0, -1)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 03:12, '2026-11-21 03:12' or 2026-11-21T03:12:00Z", text.Clean(s))
}

// parseSpan reads a length of time; days, too, which time.ParseDuration does not know.
func parseSpan(s string) (time.Duration, error) {
	if number, inDays := strings.CutSuffix(s, "d"); inDays {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil && n > 0 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= time.Minute {
		return d, nil
	}
	return 0, fmt.Errorf("%q is no length of time from 1m on: write 24h, 30m or 7d", text.Clean(s))
}

// period is a time from one moment to another.
type period struct{ from, to time.Time }

// parsePeriod reads "A..B".
func parsePeriod(s string, newest time.Time) (p period, err error) {
	a, b, ok := strings.Cut(s, "..")
	if !ok {
		return p, fmt.Errorf("%q is no period: write FROM..TO, as 03:00..04:30", text.Clean(s))
	}
	if p.to, err = parseMoment(b, newest); err != nil {
		return p, err
	}
	// A time of day means the last one before the period's end.
	if p.from, err = parseMoment(a, p.to); err != nil {
		return p, err
	}
	return p, p.check()
}

func (p *period) check() error {
	if p.to.Sub(p.from) < time.Minute {
		return fmt.Errorf("a period from %s to %s is shorter than a minute", clock(p.from), clock(p.to))
	}
	return nil
}

func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05") }
