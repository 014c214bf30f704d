package socket

import (
	"testing"
)

// TestSnapshotIsMadeOnceForAll: many clients cost little more than one.
func TestSnapshotIsMadeOnceForAll(t *testing.T) {
	b := newBox()
	_, s := serve(t, b, mustShare(t, "none"))
	first := s.newest(1, cmdSnapshot, false)
	second := s.newest(2, cmdSnapshot, false)
	if string(first[len(`{"id":1`):]) != string(second[len(`{"id":1`):]) {
		t.Error("two clients get different answers")
	}
	made := &s.cache.lines[cacheKey{cmdSnapshot, false}].rest[0]
	s.newest(3, cmdSnapshot, false)
	if made != &s.cache.lines[cacheKey{cmdSnapshot, false}].rest[0] {
		t.Error("it is made again")
	}
	next := *b.latest.Load()
	b.latest.Store(&next)
	s.newest(4, cmdSnapshot, false)
	if made == &s.cache.lines[cacheKey{cmdSnapshot, false}].rest[0] {
		t.Error("the next snapshot's is not made")
	}
}
