package doctor

import (
	"slices"
	"testing"

	"vramscope/internal/process"
)

// A process of unknown owner counts as one's own.
func TestOtherUsersPythonsAreCounted(t *testing.T) {
	owners := map[int]uint32{10: 1000, 11: 0, 13: 1001}
	all := []process.Identity{{PID: 10}, {PID: 11}, {PID: 12}, {PID: 13}}
	own, others := ownersOf(all, 1000, func(id process.Identity) (uint32, bool) {
		uid, known := owners[id.PID]
		return uid, known
	})
	if want := []process.Identity{{PID: 10}, {PID: 12}}; !slices.Equal(own, want) || others != 2 {
		t.Errorf("one's own are %v, and %d others; want %v and 2", own, others, want)
	}
}
