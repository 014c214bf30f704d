package why

import (
	"testing"
	"time"
)

// The samples of a neighbour are not of the same moments as the process's.
func TestGrowthBeginsWithTheFirstSample(t *testing.T) {
	used := []Use{{failedAt.Add(time.Second), gib}, {failedAt.Add(5 * time.Second), 40 * gib}}
	if g, ok := growthOf(used, failedAt); !ok || g.From != gib || g.To != 40*gib {
		t.Errorf("%+v %v", g, ok)
	}
	if g, ok := growthOf(used, failedAt.Add(-time.Minute)); ok {
		t.Errorf("%+v, though a minute before is not known", g)
	}
	// The process held some memory before it grew: the size from which it grew belongs to the
	// moment that is named.
	used = []Use{{failedAt, 0}, {failedAt.Add(time.Second), gib}, {failedAt.Add(2 * time.Second), 40 * gib}}
	if g, ok := growthOf(used, failedAt); !ok || g.From != gib || g.Began != used[1].Time {
		t.Errorf("%+v %v", g, ok)
	}
}
