package alert

import (
	"math"
	"time"

	"vramscope/sampler/snapshot"
)

// hysteresis is how long a candidate must be present before its alert is raised, and absent
// before it is cleared: in snapshots and in time.
type hysteresis struct {
	samples int           // consecutive snapshots with the candidate
	after   time.Duration // since the first of these snapshots
	misses  int           // consecutive snapshots without the candidate
	hold    time.Duration // since the last snapshot with the candidate
}

// atOnce raises and clears an alert without a delay.
var atOnce = hysteresis{samples: 1, misses: 1}

// latch is the state of one candidate's hysteresis.
type latch struct {
	standing bool
	hits     int
	misses   int
	first    time.Time // when the hits in a row began
	last     time.Time
	newest   candidate
	tick     uint64 // the last snapshot with the candidate
}

// latch passes the candidates of a snapshot through their latches and returns those whose alerts stand.
func (e *Evaluator) latch(snap *snapshot.Snapshot, found []candidate) []candidate {
	for i := range found {
		c := &found[i]
		l := e.latches[c.alert.Key()]
		if l == nil {
			l = &latch{}
			e.latches[c.alert.Key()] = l
		}
		if l.tick == e.tick {
			continue // the snapshot lists a GPU or a row twice
		}
		l.hit(snap.Time, e.tick, *c)
	}
	var standing []candidate
	for k, l := range e.latches {
		if l.tick != e.tick {
			l.miss(snap.Time)
			if !l.standing || e.unfounded(k, l, snap.GPU(k.GPUUUID)) {
				delete(e.latches, k)
				continue
			}
			if full := l.newest.forecast; full != nil {
				l.newest.announce(full.After(snap.Time.Sub(l.last)))
			}
		}
		if l.standing {
			standing = append(standing, l.newest)
		}
	}
	return standing
}

func (l *latch) hit(now time.Time, tick uint64, c candidate) {
	if l.hits == 0 || now.Before(l.first) { // or the clock was set back
		l.first = now
	}
	if f, before := c.forecast, l.newest.forecast; f == nil || before == nil || !f.Made.Equal(before.Made) {
		l.hits++ // a forecast that has not changed is not counted twice
	}
	l.misses = 0
	l.last, l.tick = now, tick
	h := c.hysteresis
	if !l.standing && l.hits >= h.samples && now.Sub(l.first) >= h.after {
		l.standing = true
	}
	l.newest = c
	if l.newest.alert.Since.IsZero() {
		l.newest.alert.Since = l.first
	}
}

// miss notes a snapshot without the candidate. A latch that does not stand starts again with the next hit.
func (l *latch) miss(now time.Time) {
	l.misses++
	h := l.newest.hysteresis
	if !l.standing || l.misses >= h.misses && !within(now, l.last, h.hold) {
		l.standing = false
		l.hits = 0
	}
}

// unfounded reports whether an alert must end at once: for example, its process has ended. g is the
// alert's GPU, nil if no longer listed.
func (e *Evaluator) unfounded(k snapshot.AlertKey, l *latch, g *snapshot.GPU) bool {
	answers := g != nil && g.State == snapshot.GPUOK
	row := l.newest.alert.Row
	exited := row != (snapshot.RowID{}) && !e.present(row)
	switch k.Kind {
	case snapshot.AlertFullIn:
		return !answers || exited || withheld(g, k.Instance) || g.MemoryOf(k.Instance).Used.Or(math.MaxInt64) < l.newest.refuted // unknown used memory refutes nothing
	case snapshot.AlertLowMemory:
		return !answers || exited
	case snapshot.AlertThrottled:
		return !answers
	case snapshot.AlertLeak:
		return !answers || !e.present(k.Row)
	default:
		return false
	}
}

// withheld reports whether the doubt about a GPU or MIG instance allows no forecast.
func withheld(g *snapshot.GPU, instance snapshot.InstanceID) bool {
	doubt := g.OutlookOf(instance).Doubt
	return doubt == snapshot.Young || doubt == snapshot.Rebuilding
}
