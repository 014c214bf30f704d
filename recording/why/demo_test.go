package why

import (
	"testing"
	"time"

	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// The demo's leaking job runs out of memory. The verdict is a leak, own growth, or cannot tell.
func TestDemoIsExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Seed: 1, Clock: clock, Prelude: 12 * time.Minute})
	s := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})
	explained := 0
	for range 25 * 60 {
		now = now.Add(time.Second)
		s.Tick(now)
	}
	for _, event := range s.History().Events(0) {
		if event.Kind != snapshot.EventOutOfMemory {
			continue
		}
		e := Gather(s.History(), &event)
		v := Judge(e)
		if last := e.Recent[len(e.Recent)-1]; last.Used != e.Used {
			t.Errorf("%v: it used %s, by its growth %s", event.Time, e.Used.Or(0), last.Used.Or(0))
		}
		t.Log(event.Time, v.Cause, v.Reasons, v.Missing)
		if v.Cause == Leak || v.Cause == OwnGrowth {
			explained++
		} else if v.Cause != CannotTell {
			t.Errorf("%v: %s", event.Time, v.Cause)
		}
	}
	if explained == 0 {
		t.Error("no event is explained")
	}
}
