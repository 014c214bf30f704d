package command

import (
	"time"

	"vramscope/cli/config"
	"vramscope/internal/quantity"

	"github.com/spf13/pflag"
)

// ParseSpan reads how far to look back in a recording.
func ParseSpan(s string) (time.Duration, error) {
	return config.Duration(s, time.Minute, config.Longest)
}

// Duration is the value of a flag that is a time from least to most.
func Duration(to *time.Duration, least, most time.Duration) pflag.Value {
	return Checked(new(string), func(s string) (err error) { *to, err = config.Duration(s, least, most); return err })
}

// Moment is the value of a flag that is a time of a recording.
func Moment(to *string) pflag.Value {
	return Checked(to, func(s string) error { _, err := quantity.ParseMoment(s, time.Time{}); return err })
}

// Span is one that is a length of time, from a minute on.
func Span(to *string) pflag.Value {
	return Checked(to, func(s string) error { _, err := ParseSpan(s); return err })
}
