package socket

import (
	"testing"
)

// TestSnapshotIsMadeOnceForAll: all clients with the same view share one encoded snapshot.
func TestSnapshotIsMadeOnceForAll(t *testing.T) {
	b := newBox()
	_, s := serve(t, b, mustShare(t, "none"))
	first := s.newest(&request{ID: 1, Cmd: cmdSnapshot}, false)
	second := s.newest(&request{ID: 2, Cmd: cmdSnapshot}, false)
	if string(first[len(`{"id":1`):]) != string(second[len(`{"id":1`):]) {
		t.Error("two clients get different answers")
	}
	made := &s.cache.lines[cmdSnapshot][0]
	s.newest(&request{ID: 3, Cmd: cmdSnapshot}, false)
	if made != &s.cache.lines[cmdSnapshot][0] {
		t.Error("it is made again")
	}
	if full := s.newest(&request{ID: 4, Cmd: cmdSnapshot}, true); string(full[len(`{"id":4`):]) == string(first[len(`{"id":1`):]) {
		t.Error("the owner gets the others'")
	}
	next := *b.latest.Load()
	b.latest.Store(&next)
	s.newest(&request{ID: 5, Cmd: cmdSnapshot}, false)
	if made == &s.cache.lines[cmdSnapshot][0] {
		t.Error("the next snapshot's is not made")
	}
}
