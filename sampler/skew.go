package sampler

import (
	"slices"
	"time"

	"vramscope/sampler/snapshot"
)

// span is the time from one tick until another; while To is zero it lasts.
type span struct{ From, To time.Time }

// noteSkew remembers the ticks in which the driver's and the probe's readings
// were of different moments, so that the past does not subtract them either.
func (r *rowRecord) noteSkew(now time.Time, p *snapshot.Process) {
	const limit = 64
	n := len(r.Skews)
	lasts := n > 0 && r.Skews[n-1].To.IsZero()
	switch skewed := isSkewed(p); {
	case lasts && !skewed:
		r.Skews[n-1].To = now
	case skewed && !lasts:
		if n == limit {
			r.Skews = slices.Clone(r.Skews[limit/2:])
		}
		r.Skews = append(r.Skews, span{From: now})
	}
}

// isSkewed reports that the driver's figure and the probe's are both known and
// were not subtracted.
func isSkewed(p *snapshot.Process) bool {
	return !p.Other.Known() && p.Used.Known() && p.Allocated.Known()
}

// skewedAt reports whether the readings were skewed at a moment.
func (r *rowRecord) skewedAt(t time.Time) bool {
	return slices.ContainsFunc(r.Skews, func(s span) bool { return !t.Before(s.From) && (s.To.IsZero() || t.Before(s.To)) })
}
