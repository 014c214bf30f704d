package store

import (
	"cmp"
	"sync"
)

// Log has the newest events. When it is full a new event replaces the oldest. It
// is safe for concurrent use.
type Log[E any] struct {
	mu     sync.Mutex
	events []E // a ring once it is full
	next   int // where the next event goes
	limit  int
}

// NewLog makes a log of at most limit events; 0 means 10,000.
func NewLog[E any](limit int) *Log[E] {
	return &Log[E]{limit: cmp.Or(max(limit, 0), 10_000)}
}

// Append adds an event.
func (l *Log[E]) Append(e E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) < l.limit {
		l.events = append(l.events, e)
		return
	}
	l.events[l.next] = e
	l.next = (l.next + 1) % l.limit
}

// Newest gives copies of the newest events, newest first, at most limit of
// them; 0 means all.
func (l *Log[E]) Newest(limit int) []E {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.events)
	if limit <= 0 || limit > n {
		limit = n
	}
	out := make([]E, limit)
	for i := range out {
		out[i] = l.events[(l.next-1-i+2*n)%n]
	}
	return out
}
