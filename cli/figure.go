package cli

import (
	"cmp"
	"fmt"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The cells of the table; the dash is unknown.

func (t *table) word(s string) string { return cmp.Or(oneWord(s), t.signs.dash) }

func (t *table) bytes(b snapshot.Bytes) string { return t.signs.bytes(b) }

// metric is a metric of a GPU or a process, in its unit.
func (t *table) metric(of interface {
	Value(metric.ID) snapshot.Float
}, id metric.ID) string {
	v, ok := of.Value(id).Value()
	switch unit := metric.Table[id].Unit; {
	case !ok:
		return t.signs.dash
	case unit == metric.Bytes:
		return quantity.Bytes(v).String()
	case unit == metric.Percent:
		return fmt.Sprintf("%.0f%%", v)
	case unit == metric.Celsius:
		return fmt.Sprintf("%.0fC", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// power is "612/700W", or "612W" without a limit.
func (t *table) power(power, limit snapshot.Float) string {
	v, ok := metric.Finite(power).Value()
	if !ok {
		return t.signs.dash
	}
	if most, ok := metric.Finite(limit).Value(); ok {
		return fmt.Sprintf("%.0f/%.0fW", v, most)
	}
	return fmt.Sprintf("%.0fW", v)
}

// fullIn is "4m10s(3m–6m)", in one word.
func (t *table) fullIn(full *snapshot.FullIn) string {
	if full == nil {
		return t.signs.dash
	}
	latest := "+"
	if full.Latest > 0 {
		latest = t.signs.enDash + shortDuration(full.Latest)
	}
	return shortDuration(full.Median) + "(" + shortDuration(full.Earliest) + latest + ")"
}

// shortDuration is "58s", "4m10s", "3m" or "2h05m".
func shortDuration(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}
