package alert

import (
	"math"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// hysteresis is how long a candidate must be there before its alert is raised,
// and away before it is cleared: in snapshots and in time.
type hysteresis struct {
	Samples int           // consecutive snapshots with it
	After   time.Duration // since the first of them
	Misses  int           // consecutive snapshots without it
	Hold    time.Duration // since the last with it
}

// atOnce raises and clears an alert without a delay.
var atOnce = hysteresis{Samples: 1, Misses: 1}

// latch is the state of one candidate's hysteresis.
type latch struct {
	Standing bool
	Hits     int
	Misses   int
	First    time.Time // of the hits in a row
	Last     time.Time
	Newest   candidate
	tick     uint64 // the snapshot that last had it
}

// latch passes the candidates of a snapshot through their latches and returns
// those whose alerts stand.
func (e *Evaluator) latch(snap *snapshot.Snapshot, found []candidate) []candidate {
	for i := range found {
		c := &found[i]
		l := e.Latches[c.Key]
		if l == nil {
			l = &latch{}
			e.Latches[c.Key] = l
		}
		if l.tick == e.tick {
			continue // the snapshot lists a GPU or a row twice
		}
		l.hit(snap.Time, e.tick, *c)
	}
	var standing []candidate
	for k, l := range e.Latches {
		if l.tick != e.tick {
			l.miss(snap.Time)
			if !l.Standing || e.unfounded(k, l, snap.GPU(k.GPUUUID)) {
				delete(e.Latches, k)
				continue
			}
		}
		if l.Standing {
			standing = append(standing, l.Newest)
		}
	}
	return standing
}

func (l *latch) hit(now time.Time, tick uint64, c candidate) {
	if l.Hits == 0 || now.Before(l.First) { // or the clock was set back
		l.First = now
	}
	if c.Forecast == nil || c.Forecast != l.Newest.Forecast {
		l.Hits++ // a forecast that still stands is no second one
	}
	l.Misses = 0
	l.Last, l.tick = now, tick
	h := c.Hysteresis
	if !l.Standing && l.Hits >= h.Samples && now.Sub(l.First) >= h.After {
		l.Standing = true
	}
	l.Newest = c
	if l.Newest.Alert.Since.IsZero() {
		l.Newest.Alert.Since = l.First
	}
}

// miss notes a snapshot without the candidate. A latch that does not stand
// starts anew with the next hit.
func (l *latch) miss(now time.Time) {
	l.Misses++
	h := l.Newest.Hysteresis
	if !l.Standing || l.Misses >= h.Misses && !within(now, l.Last, h.Hold) {
		l.Standing = false
		l.Hits = 0
	}
}

// unfounded reports that an alert is about a GPU that does not answer, a
// process that has ended, or memory that was freed. The GPU is nil where it is
// no longer there.
func (e *Evaluator) unfounded(k key, l *latch, g *snapshot.GPU) bool {
	answers := g != nil && g.State == snapshot.GPUOK
	row := l.Newest.Alert.Row
	exited := row != (snapshot.RowID{}) && !e.present(row)
	switch k.Kind {
	case snapshot.AlertFullIn:
		return !answers || exited || usedOn(g, k.Instance) < l.Newest.Refuted
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

// usedOn is the use of a GPU or MIG instance; where it is unknown, the largest
// number, which refutes nothing.
func usedOn(g *snapshot.GPU, instance snapshot.InstanceID) quantity.Bytes {
	used := g.Memory.Used
	if instance.MIG {
		used = snapshot.Bytes{}
		if in := g.Instance(instance); in != nil {
			used = in.Memory.Used
		}
	}
	return used.Or(math.MaxInt64)
}
