package recording

import (
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// whole joins a live history and an earlier one. Its methods wait for the earlier one.
type whole struct {
	live    snapshot.History
	earlier func() snapshot.History // nil while there is none
}

// Whole joins a live history and an earlier one, for callers that can wait for the disk. earlier
// returns nil until the earlier history exists.
func Whole(live snapshot.History, earlier func() snapshot.History) snapshot.History {
	return &whole{live, earlier}
}

// Away reports whether the live history is away; see Joined.
func (w *whole) Away() bool {
	remote, ok := w.live.(interface{ Away() bool })
	return ok && remote.Away()
}

// began returns when the live history begins; zero while it is empty.
func (w *whole) began() time.Time {
	oldest, _ := w.live.Span()
	return oldest
}

func (w *whole) At(t time.Time) (*snapshot.Snapshot, bool) {
	if began := w.began(); !began.IsZero() && !t.Before(began) {
		return w.live.At(t)
	}
	if before := w.earlier(); before != nil {
		return before.At(t)
	}
	return nil, false
}

func (w *whole) Span() (oldest, newest time.Time) {
	oldest, newest = w.live.Span()
	before := w.earlier()
	if before == nil {
		return oldest, newest
	}
	if from, to := before.Span(); !from.IsZero() && (oldest.IsZero() || from.Before(oldest)) {
		oldest, newest = from, quantity.Later(newest, to)
	}
	return oldest, newest
}

func (w *whole) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := w.live.Series(key, from, to, buckets)
	if began := w.began(); !began.IsZero() && !from.Before(began) {
		return points
	}
	before := w.earlier()
	if before == nil {
		return points
	}
	for i, recorded := range before.Series(key, from, to, buckets) {
		if !points[i].Known {
			points[i] = recorded
		}
	}
	return points
}

func (w *whole) Events(limit int) []snapshot.Event {
	events := w.live.Events(limit)
	if limit > 0 && len(events) >= limit {
		return events
	}
	before := w.earlier()
	if before == nil {
		return events
	}
	began, older := w.began(), before.Events(limit)
	for asked := limit; ; older = before.Events(asked) {
		earlier := slices.DeleteFunc(slices.Clone(older), func(e snapshot.Event) bool { return !began.IsZero() && !e.Time.Before(began) })
		switch missing := limit - len(events); {
		case limit > 0 && len(earlier) >= missing:
			return append(events, earlier[:missing]...)
		case limit <= 0 || len(older) < asked:
			return append(events, earlier...)
		}
		asked *= 2 // some of the older events are in the live history's time
	}
}
