package lease

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

const gib = quantity.GiB

// box is a ledger with a clock, and devices of 80 GiB that the test fills.
type box struct {
	*testing.T
	*Ledger
	now     time.Time
	devices []Device
	used    map[Use]quantity.Bytes
}

func newBox(t *testing.T, devices int) *box {
	b := &box{T: t, now: time.Unix(1_700_000_000, 0), used: map[Use]quantity.Bytes{}}
	ids := 0
	b.Ledger = &Ledger{Reserve: gib / 2, NewID: func() string { ids++; return "L" + strconv.Itoa(ids) }}
	for i := range devices {
		b.devices = append(b.devices, Device{UUID: "GPU-" + strconv.Itoa(i), Label: strconv.Itoa(i), Capacity: 80 * gib, Free: 80 * gib, Known: true, Exact: true})
	}
	b.sample()
	return b
}

// sample gives the ledger a reading a second later. Free memory is that of b.devices, less b.used.
func (b *box) sample() {
	b.now = b.now.Add(time.Second)
	r := Reading{At: b.now, Used: map[Use]quantity.Bytes{}}
	for _, d := range b.devices {
		for use, bytes := range b.used {
			if use.Device == d.UUID {
				d.Free -= bytes
			}
		}
		r.Devices = append(r.Devices, d)
	}
	for use, bytes := range b.used {
		r.Used[use] = bytes
	}
	b.Observe(r)
	b.Advance(b.now)
}

func (b *box) claim(c Claim) *Lease {
	b.Helper()
	c.Count = max(c.Count, 1)
	le, err := b.Claim(b.now, c, nil)
	if err != nil {
		b.Fatal(err)
	}
	return le
}

func (b *box) is(le *Lease, state State, devices ...string) {
	b.Helper()
	if le.State != state || len(devices) > 0 && strings.Join(le.Devices, " ") != strings.Join(devices, " ") {
		b.Errorf("%s of %s is %s on %v, want %s on %v", le.ID, le.Need, le.State, le.Devices, state, devices)
	}
}

func TestPromiseCountsUntilItIsUsed(t *testing.T) {
	b := newBox(t, 1)
	first := b.claim(Claim{Need: 50 * gib})
	b.is(first, Held, "GPU-0")
	second := b.claim(Claim{Need: 40 * gib})
	b.is(second, Waiting)
	b.used[Use{first.ID, "GPU-0"}] = 20 * gib
	b.sample()
	b.is(second, Waiting)
	third := b.claim(Claim{Need: 20 * gib, Length: time.Minute})
	b.is(third, Waiting) // the first lease has no known end
	b.End(first)
	delete(b.used, Use{first.ID, "GPU-0"})
	b.sample()
	b.is(second, Held, "GPU-0")
	b.is(third, Held, "GPU-0")
}

func TestUseOfOthersIsUsed(t *testing.T) {
	b := newBox(t, 2)
	b.devices[0].Free = 30 * gib
	b.devices[1].Free = 17 * gib
	b.sample()
	_, err := b.Claim(b.now, Claim{Need: 40 * gib, Count: 1}, b.Words)
	if want := "needs 40.0G, most free is GPU 0 with 29.5G"; err == nil || err.Error() != want {
		t.Errorf("refused with %v, want %s", err, want)
	}
	le := b.claim(Claim{Need: 16 * gib, Count: 2})
	b.is(le, Held, "GPU-0", "GPU-1")
	_, err = b.Claim(b.now, Claim{Need: 10 * gib, Count: 2}, b.Words)
	if want := "needs 2x10.0G, room for 1 of them, most free is GPU 1 with 512M"; err == nil || err.Error() != want {
		t.Errorf("refused with %v, want %s", err, want)
	}
}

func TestWhatNeverFitsIsRefused(t *testing.T) {
	b := newBox(t, 2)
	for want, c := range map[string]Claim{
		"too few GPUs have 80.0G for jobs: the largest has 79.5G": {Need: 80 * gib, Count: 1},
		"needs 3 GPUs, and there are 2":                           {Need: gib, Count: 3},
		"needs 1 GPUs, and there are 0":                           {Need: gib, Count: 1, Among: []string{"GPU-7"}},
	} {
		if _, err := b.Claim(b.now, c, nil); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

// TestHeadKeepsWhatItGathers: later claims take other GPUs and, after gatherTime, no GPU that the first
// claim could use.
func TestHeadKeepsWhatItGathers(t *testing.T) {
	b := newBox(t, 2)
	b.devices[0].Free, b.devices[1].Free = 30*gib, 20*gib
	b.sample()
	head := b.claim(Claim{Need: 60 * gib})
	b.is(head, Waiting)
	b.is(b.claim(Claim{Need: 10 * gib}), Held, "GPU-1")
	b.now = b.now.Add(gatherTime)
	b.is(b.claim(Claim{Need: 5 * gib}), Waiting)
	b.devices[1].Free = 80 * gib
	b.sample()
	b.is(head, Held, "GPU-1")
}

// TestWantedIsWhatTheHeadLacks: Wanted returns the GPUs without enough room for the first waiting claim,
// and how much must be free on each.
func TestWantedIsWhatTheHeadLacks(t *testing.T) {
	b := newBox(t, 3)
	b.devices[0].Free, b.devices[1].Free = 30*gib, 20*gib
	b.is(b.claim(Claim{Need: 10 * gib, Among: []string{"GPU-0"}}), Held)
	if free, count := b.Wanted(); len(free) > 0 || count != 0 {
		t.Errorf("no claim waits, and wanted are %v, %d", free, count)
	}
	b.devices[2].Known = false
	b.sample()
	b.is(b.claim(Claim{Need: 40 * gib, Count: 2}), Waiting)
	b.is(b.claim(Claim{Need: 60 * gib}), Waiting)
	if free, _ := b.Wanted(); len(free) > 0 {
		t.Errorf("at once, wanted are %v", free)
	}
	for range 6 {
		b.sample()
	}
	free, count := b.Wanted()
	if len(free) != 2 || free["GPU-0"] != 50*gib+gib/2 || free["GPU-1"] != 40*gib+gib/2 || count != 2 {
		t.Errorf("wanted are %v, %d", free, count)
	}
	b.devices[0].Free = 60 * gib
	b.sample()
	if free, count = b.Wanted(); len(free) != 1 || free["GPU-1"] == 0 || count != 1 {
		t.Errorf("one GPU has room, and wanted are %v, %d", free, count)
	}
	b.devices[0].Free, b.devices[0].Exact, b.devices[1].Exact = 30*gib, false, false
	b.sample()
	if free, count = b.Wanted(); len(free) != 1 || free["GPU-1"] == 0 || count != 2 {
		t.Errorf("a lease has the GPU for itself, and wanted are %v, %d", free, count)
	}
	b.queue[0].away = b.now
	if free, _ = b.Wanted(); len(free) > 0 {
		t.Errorf("no client waits for the claim, and wanted are %v", free)
	}
}

// TestImportantClaimPasses: an important claim passes only claims that have waited for less time than
// its importance is worth.
func TestImportantClaimPasses(t *testing.T) {
	b := newBox(t, 1)
	first := b.claim(Claim{Need: 79 * gib})
	old := b.claim(Claim{Need: 50 * gib})
	b.now = b.now.Add(31 * time.Minute)
	young := b.claim(Claim{Need: 50 * gib})
	b.now = b.now.Add(time.Minute)
	important, least := b.claim(Claim{Need: 50 * gib, Importance: 500}), b.claim(Claim{Need: 50 * gib, Importance: -1})
	equal := b.claim(Claim{Need: 50 * gib})
	if s := b.Standing(important); s.Before != 1 {
		t.Errorf("%d before it", s.Before)
	}
	for _, next := range []*Lease{first, old, important, young, equal, least} {
		b.is(next, Held)
		b.End(next)
		b.sample()
	}
}

// TestShortClaimPasses: a short claim passes the head if it ends before the head can begin.
func TestShortClaimPasses(t *testing.T) {
	b := newBox(t, 1)
	b.is(b.claim(Claim{Need: 50 * gib, Length: time.Hour}), Held)
	head := b.claim(Claim{Need: 60 * gib})
	b.is(b.claim(Claim{Need: 10 * gib, Length: 2 * time.Hour}), Waiting)
	b.is(b.claim(Claim{Need: 10 * gib, Length: 30 * time.Minute}), Held)
	b.is(head, Waiting)
	if s := b.Standing(head); s.Before != 0 {
		t.Errorf("%d before the head", s.Before)
	}
}

// TestReleaseCountsUntilTheNextReading: a released lease's process may have taken memory since the last reading.
func TestReleaseCountsUntilTheNextReading(t *testing.T) {
	b := newBox(t, 1)
	first := b.claim(Claim{Need: 50 * gib})
	b.Release(b.now, first, "released")
	second := b.claim(Claim{Need: 60 * gib})
	b.is(second, Waiting)
	b.devices[0].Free = 65 * gib // without the memory that the first lease's process has taken
	b.sample()
	b.is(second, Held)
}

// TestTimeOfSkewIsNotRoom: memory that is taken between the reading of free memory and that of use is
// only in the second reading.
func TestTimeOfSkewIsNotRoom(t *testing.T) {
	b := newBox(t, 1)
	first := b.claim(Claim{Need: 50 * gib})
	b.used[Use{first.ID, "GPU-0"}] = 50 * gib
	b.devices[0].Free = 130 * gib // less the 50 GiB in use, 80 GiB are reported as free
	b.sample()
	b.is(b.claim(Claim{Need: 40 * gib}), Waiting)
}

func TestUnusedLeaseEndsByItsTTL(t *testing.T) {
	b := newBox(t, 1)
	unused := b.claim(Claim{Need: gib, TTL: time.Minute})
	used := b.claim(Claim{Need: gib, TTL: time.Minute})
	b.used[Use{used.ID, "GPU-0"}] = gib
	b.sample()
	b.now = b.now.Add(time.Minute)
	b.Advance(b.now)
	b.is(unused, Ended)
	b.is(used, Held)
	again := b.claim(Claim{Need: gib, TTL: time.Minute})
	b.Renew(b.now, again, time.Hour)
	b.now = b.now.Add(time.Minute)
	b.Advance(b.now)
	b.is(again, Held)
}

// TestUnknownUseAllowsOneLease: a device on which use is unknown has one lease at a time.
func TestUnknownUseAllowsOneLease(t *testing.T) {
	b := newBox(t, 1)
	b.devices[0].Exact = false
	b.sample()
	first := b.claim(Claim{Need: 10 * gib})
	b.is(first, Held)
	_, err := b.Claim(b.now, Claim{Need: gib, Count: 1}, b.Words)
	if err == nil || !strings.Contains(err.Error(), "use per process is not known there, and another lease stands") {
		t.Errorf("refused with %v", err)
	}
	second := b.claim(Claim{Need: gib})
	third := b.claim(Claim{Need: gib})
	b.End(first)
	b.sample()
	b.is(second, Held)
	b.is(third, Waiting)
}

// TestNestedClaimTakesFromItsParent: a nested claim takes no room outside its parent.
func TestNestedClaimTakesFromItsParent(t *testing.T) {
	b := newBox(t, 2)
	b.devices[1].Free = 10 * gib
	b.sample()
	outer := b.claim(Claim{Need: 60 * gib})
	inner := b.claim(Claim{Need: 40 * gib, Parent: outer.ID})
	b.is(inner, Held, "GPU-0")
	more := b.claim(Claim{Need: 30 * gib, Parent: outer.ID})
	b.is(more, Waiting)
	b.is(b.claim(Claim{Need: 19 * gib}), Held, "GPU-0") // 79.5 − 60 are left, whatever the inner lease takes
	if _, err := b.Claim(b.now, Claim{Need: 61 * gib, Count: 1, Parent: outer.ID}, nil); err == nil || !strings.Contains(err.Error(), "do not fit into lease L1, which has 1x60.0G") {
		t.Errorf("refused with %v", err)
	}
	// Another user's lease is no parent.
	other := b.claim(Claim{Need: gib, Parent: outer.ID, UID: 7})
	b.is(other, Held, "GPU-1")
	b.used[Use{inner.ID, "GPU-0"}] = 40 * gib
	b.sample()
	if got := b.Used(outer, "GPU-0"); got != 40*gib {
		t.Errorf("the outer one uses %s with the inner one", got)
	}
	b.End(inner)
	delete(b.used, Use{inner.ID, "GPU-0"})
	b.sample()
	b.is(more, Held, "GPU-0")
	b.End(outer)
	if more.Parent != "" {
		t.Errorf("it takes from %s, which has ended", more.Parent)
	}
}

// TestPlaceIsKeptOverARestart: a claim keeps its place in the queue for awayTime.
func TestPlaceIsKeptOverARestart(t *testing.T) {
	b := newBox(t, 1)
	first := b.claim(Claim{Need: 50 * gib})
	head := b.claim(Claim{Need: 60 * gib})
	b.sample()
	next := b.claim(Claim{Need: 10 * gib})
	b.is(next, Waiting)
	again := newBox(t, 1)
	again.now = b.now
	again.Restore(b.now, []*Lease{first, head, next})
	again.sample()
	head, next = again.Lease(head.ID), again.Lease(next.ID)
	again.is(again.Lease(first.ID), Held, "GPU-0")
	if again.Back(next.ID, 0) == nil || again.Back(next.ID, 7) != nil {
		t.Error("who waits is not found, or by somebody else")
	}
	again.sample()
	again.is(next, Waiting) // the head comes first
	again.now = again.now.Add(awayTime)
	again.sample()
	again.is(head, Ended)
	again.is(next, Held)
}

func TestTroublesAreFound(t *testing.T) {
	b := newBox(t, 2)
	over := b.claim(Claim{Need: 50 * gib, Among: []string{"GPU-0"}})
	b.claim(Claim{Need: 50 * gib, Among: []string{"GPU-1"}})
	if found := b.Troubles(); len(found) != 0 {
		t.Errorf("troubles: %+v", found)
	}
	b.used[Use{over.ID, "GPU-0"}] = 53 * gib
	b.devices[1].Free = 40 * gib
	b.sample()
	found := b.Troubles()
	if len(found) != 2 || found[0] != (Trouble{"GPU-0", over.ID, 3 * gib}) || found[1] != (Trouble{"GPU-1", "", 10 * gib}) {
		t.Errorf("troubles: %+v", found)
	}
}
