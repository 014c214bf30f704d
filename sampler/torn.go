package sampler

import (
	"slices"
	"time"

	"vramscope/sampler/snapshot"
)

// span is the time from one tick until another; a zero To: it lasts.
type span struct{ From, To time.Time }

// noteTorn remembers the ticks whose difference of used and held says nothing.
func (r *rowRecord) noteTorn(now time.Time, p *snapshot.Process) {
	const most = 64
	n := len(r.torn)
	lasts := n > 0 && r.torn[n-1].To.IsZero()
	switch torn := isTorn(p); {
	case lasts && !torn:
		r.torn[n-1].To = now
	case torn && !lasts:
		if n == most {
			r.torn = slices.Clone(r.torn[most/2:])
		}
		r.torn = append(r.torn, span{From: now})
	}
}

// isTorn reports that the driver's figure and the probe's are known and have
// not been put together.
func isTorn(p *snapshot.Process) bool {
	return !p.Other.Known() && p.Used.Known() && p.Allocated.Known()
}

// tornAt reports whether that was so at a moment.
func (r *rowRecord) tornAt(t time.Time) bool {
	return slices.ContainsFunc(r.torn, func(s span) bool { return !t.Before(s.From) && (s.To.IsZero() || t.Before(s.To)) })
}
