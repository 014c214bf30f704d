package why

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
)

// What a process has come to hold is not what a step takes and frees.
func TestCheckpointingFreesWhatAStepTakes(t *testing.T) {
	for name, c := range map[string]struct {
		allocated []quantity.Bytes
		want      quantity.Bytes
	}{
		"steady growth":            {[]quantity.Bytes{0, 10 * gib, 20 * gib, 50 * gib}, 0},
		"a model, then steps":      {[]quantity.Bytes{0, 20 * gib, 30 * gib, 20 * gib, 29 * gib, 21 * gib}, 10 * gib},
		"steps, then a large step": {[]quantity.Bytes{5 * gib, 9 * gib, 5 * gib, 60 * gib}, 4 * gib},
	} {
		e := &Evidence{Steps: quantity.From(int64(100), quantity.Probe)}
		for i, v := range c.allocated {
			e.Recent = append(e.Recent, Sample{Time: failedAt.Add(time.Duration(i) * time.Second), Allocated: computed(v)})
		}
		if got := toothOf(e); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
