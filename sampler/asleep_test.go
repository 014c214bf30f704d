package sampler

import (
	"fmt"
	"strings"
	"testing"

	"vramscope/internal/quantity"
)

// TestUnconfirmedReportsAreBelievedAgain: memory that is asleep looks like a lie to
// whoever does not know. Of a report that the driver does not confirm nothing counts,
// and the next one that agrees is shown at once, whatever its peaks.
func TestUnconfirmedReportsAreBelievedAgain(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	claim := func(reserved quantity.Bytes) {
		b.answers = nil
		b.says(t, 100, fmt.Sprintf(`{"uuid":"GPU-0","allocators":[{"kind":"pytorch","reserved_bytes":%d,"allocated_bytes":%d,
			"cached_bytes":%d,"fragmented_bytes":0,"returnable_bytes":%d,"peak_allocated_bytes":%d,"peak_reserved_bytes":%d}]}`,
			reserved, reserved-gib, gib, gib, 101*gib, 102*gib))
	}
	tick := func(used quantity.Bytes) {
		b.use("GPU-0", used)
		claim(42 * gib)
		b.tick(s)
	}
	for range 20 {
		tick(42*gib + gib/2)
	}
	p := &s.Latest().Rows[0]
	if p.Probe.Rejected != "" || p.Cached.Or(0) != gib {
		t.Fatalf("awake: %+v", p.Probe)
	}
	if a := &p.Allocators[0]; a.PeakAllocated.Known() || a.PeakReserved.Known() {
		t.Errorf("the GPU has held %v and %v", a.PeakAllocated, a.PeakReserved)
	}
	for range confirmed + confirmedDoubt {
		tick(2*gib + gib/2)
	}
	snap := s.Latest()
	if p = &snap.Rows[0]; p.Probe.Rejected != "reports 42.0G, the driver 2.50G" || p.Probe.Claimed.Or(0) != 42*gib {
		t.Fatalf("asleep: %+v", p.Probe)
	}
	checkUnknown(t, snap, p)
	if why := p.FlushRefusal("alice"); !strings.Contains(why, p.Probe.Rejected) {
		t.Errorf("a flush is refused with %q", why)
	}
	tick(42*gib + gib/2)
	if p = &s.Latest().Rows[0]; p.Probe.Rejected != "" || p.Probe.Claimed.Known() || p.Returnable.Or(0) != gib {
		t.Errorf("awake again: %+v, returnable %v", p.Probe, p.Returnable)
	}
}
