package cli

import (
	"sync"
	"time"

	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// longPast is what a daemon's clients can ask for: what it remembers and, before
// that, what it or the daemon before it has recorded. Clients wait for the disk;
// the sampler does not.
type longPast struct {
	live      snapshot.History
	directory string
	now       func() time.Time

	mu      sync.Mutex
	opened  *recording.Recording // nil until there is something to read
	retryAt time.Time
}

// before is what was recorded; false where nothing was yet.
func (p *longPast) before() (*recording.Recording, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.opened == nil && !now.Before(p.retryAt) {
		p.opened, _ = recording.Open(p.directory) // the recorder says what is wrong with it
		p.retryAt = now.Add(time.Minute)
	}
	return p.opened, p.opened != nil
}

// began is when the live history begins; zero while it is empty.
func (p *longPast) began() time.Time {
	oldest, _ := p.live.Span()
	return oldest
}

// At implements snapshot.History.
func (p *longPast) At(t time.Time) (*snapshot.Snapshot, bool) {
	if began := p.began(); !began.IsZero() && !t.Before(began) {
		return p.live.At(t)
	}
	if before, ok := p.before(); ok {
		return before.At(t)
	}
	return nil, false
}

// Span implements snapshot.History.
func (p *longPast) Span() (oldest, newest time.Time) {
	oldest, newest = p.live.Span()
	before, ok := p.before()
	if !ok {
		return oldest, newest
	}
	if from, to := before.Span(); !from.IsZero() && (oldest.IsZero() || from.Before(oldest)) {
		oldest = from
		if newest.Before(to) {
			newest = to
		}
	}
	return oldest, newest
}

// Series implements snapshot.History.
func (p *longPast) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := p.live.Series(key, from, to, buckets)
	if began := p.began(); !began.IsZero() && !from.Before(began) {
		return points
	}
	before, ok := p.before()
	if !ok {
		return points
	}
	for i, recorded := range before.Series(key, from, to, buckets) {
		if !points[i].Known {
			points[i] = recorded
		}
	}
	return points
}

// Events implements snapshot.History.
func (p *longPast) Events(limit int) []snapshot.Event {
	events := p.live.Events(limit)
	if limit > 0 && len(events) >= limit {
		return events
	}
	before, ok := p.before()
	if !ok {
		return events
	}
	began := p.began()
	for _, e := range before.Events(limit) {
		if limit > 0 && len(events) >= limit {
			break
		}
		if began.IsZero() || e.Time.Before(began) {
			events = append(events, e)
		}
	}
	return events
}
