package ui

import (
	"testing"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// TestPartsOfPool: what a pool has fragmented is known from its last flush, and
// what the next one returns is a bound all the time.
func TestPartsOfPool(t *testing.T) {
	for _, c := range []struct {
		fragmented snapshot.Bytes
		note       string
	}{
		{snapshot.Bytes{}, "known only after a flush"},
		{quantity.From(gib(1), quantity.Probe), "what the last flush could not free"},
	} {
		m := newFlushModel(t, func(s *snapshot.Snapshot, _ *Options) {
			for i := range s.Rows {
				if p := &s.Rows[i]; p.ID.Process.PID == snapshottest.Leaking {
					a := &p.Allocators[0]
					a.Kind, a.Basis, a.Fragmented, p.Fragmented = "cuda_pool", "post_flush", c.fragmented, c.fragmented
				}
			}
		})
		m.onto(snapshottest.Leaking).key("enter")
		m.shows("F frees about 11.8G")
		m.shows(c.note)
	}
}
