package past

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vramscope/cli/command"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
)

// period is a time from one moment to another.
type period struct{ from, to time.Time }

// parsePeriod reads "A..B", of at least a minute.
func parsePeriod(s string, newest time.Time) (p period, err error) {
	if p, err = endsOf(s, newest); err != nil {
		return p, err
	}
	return p, p.check()
}

// endsOf reads both times of "A..B".
func endsOf(s string, newest time.Time) (p period, err error) {
	a, b, ok := strings.Cut(s, "..")
	if !ok {
		return p, fmt.Errorf("%q is no period: write FROM..TO, as 03:00..04:30", text.Clean(s))
	}
	if p.to, err = quantity.ParseMoment(b, newest); err != nil {
		return p, err
	}
	// A time of day means the last one before the period's end.
	p.from, err = quantity.ParseMoment(a, p.to)
	return p, err
}

// isPeriod reports whether an argument is "A..B", and not a path as "../recordings".
func isPeriod(s string) bool {
	a, b, ok := strings.Cut(s, "..")
	if !ok || a == "" || b == "" {
		return false
	}
	_, err := os.Stat(s)
	return err != nil
}

func (p *period) check() error {
	if p.to.Sub(p.from) < time.Minute {
		return fmt.Errorf("a period from %s to %s is shorter than a minute", p.from.Format(time.DateTime), p.to.Format(time.DateTime))
	}
	return nil
}

// aPeriod is one that is "A..B".
func aPeriod(to *string) pflag.Value {
	return command.Checked(to, func(s string) error { _, err := endsOf(s, time.Time{}); return err })
}
