package why

import (
	"testing"
	"time"
)

// A neighbour is sampled at other moments than the process.
func TestGrowthBeginsWithTheFirstSample(t *testing.T) {
	used := []Use{{failedAt.Add(time.Second), gib}, {failedAt.Add(5 * time.Second), 40 * gib}}
	if g, ok := growthOf(used, failedAt); !ok || g.From != gib || g.To != 40*gib {
		t.Errorf("%+v %v", g, ok)
	}
	if g, ok := growthOf(used, failedAt.Add(-time.Minute)); ok {
		t.Errorf("%+v, though a minute before is not known", g)
	}
	// Growth begins at the last sample before the rise, with that sample's size and time.
	used = []Use{{failedAt, 0}, {failedAt.Add(time.Second), gib}, {failedAt.Add(2 * time.Second), 40 * gib}}
	if g, ok := growthOf(used, failedAt); !ok || g.From != gib || g.Began != used[1].Time {
		t.Errorf("%+v %v", g, ok)
	}
}
