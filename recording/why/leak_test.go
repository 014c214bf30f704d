package why

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A program holds ten GiB for hours, and leaks in its last half hour.
func TestLeakThatBeginsLate(t *testing.T) {
	failed := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	late := func(leak func(minutes float64) quantity.Bytes) *Evidence {
		e := &Evidence{Event: snapshot.Event{Time: failed}}
		for m := 600; m >= 0; m-- {
			held := 10 * quantity.GiB
			if m < 30 {
				held += leak(float64(30 - m))
			}
			e.Used = computed(held)
			e.Long = append(e.Long, Sample{Time: failed.Add(-time.Duration(m) * time.Minute), Used: e.Used, Allocated: e.Used})
		}
		return e
	}
	v, found := leakOf(late(func(minutes float64) quantity.Bytes { return quantity.Bytes(minutes) * quantity.GiB }))
	if began := failed.Add(-30 * time.Minute); !found || v.Since.Sub(began).Abs() > 15*time.Minute || v.Leaked < 10*quantity.GiB {
		t.Errorf("%t, %+v", found, v)
	}
	for name, e := range map[string]*Evidence{
		"a jump":        late(func(float64) quantity.Bytes { return 30 * quantity.GiB }),
		"two jumps":     late(func(m float64) quantity.Bytes { return quantity.Bytes(int(m)/15+1) * 10 * quantity.GiB }),
		"little growth": late(func(m float64) quantity.Bytes { return quantity.Bytes(m) * 20 * quantity.MiB }),
		"a short one":   late(func(m float64) quantity.Bytes { return quantity.Bytes(max(m-25, 0)) * 5 * quantity.GiB }),
	} {
		if v, found := leakOf(e); found {
			t.Errorf("%s: a leak: %+v", name, v.Reasons)
		}
	}
}
