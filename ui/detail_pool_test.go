package ui

import (
	"testing"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestThePartsOfAPool: what a pool has stuck is known from its last flush, and
// what the next one returns is a bound all the time.
func TestThePartsOfAPool(t *testing.T) {
	for _, c := range []struct {
		stuck snapshot.Bytes
		note  string
	}{
		{snapshot.Bytes{}, "known after a flush only"},
		{quantity.From(gib(1), quantity.Probe), "what the last flush had to leave"},
	} {
		m := newFlushModel(t, func(s *snapshot.Snapshot, _ *Options) {
			for i := range s.Rows {
				if p := &s.Rows[i]; p.ID.Process.PID == snapshottest.Leaking {
					a := &p.Allocators[0]
					a.Kind, a.Basis, a.Fragmented, p.Fragmented = "cuda_pool", "post_flush", c.stuck, c.stuck
				}
			}
		})
		m.onto(snapshottest.Leaking).key("enter")
		m.shows("F returns up to 11.8G")
		m.shows(c.note)
	}
}
