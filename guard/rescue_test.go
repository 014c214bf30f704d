package guard

import (
	"testing"
	"time"
)

// What came back after a flush by a rule is there to be had when an allocation fails:
// a rule's back-off and its one repeated flush a minute do not bind a rescue.
func TestRescueAsksProcessesThatRulesLeaveAlone(t *testing.T) {
	asker := &row{command: "train.py", allocated: 40 * gib}
	giver := &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib}
	b := newBox(asker, giver)
	e := New(rooms(Act, Importance{Command: "train.py", Value: 500}), alice)
	all := b.run(e, 40, func(second int) {
		if second%5 == 0 {
			giver.cached = 30 * gib
		}
	})
	if len(of(all, CameBack)) == 0 || e.traces[giver.id()].waits(e.now, b.row(giver)) == "" {
		t.Fatal("the rule does not leave the process alone")
	}
	for i := range 3 {
		decisions := of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), Acts)
		if len(decisions) != 1 || decisions[0].Row != giver.id() {
			t.Fatalf("rescue %d: %+v", i, decisions)
		}
		e.Finished(decisions[0], b.flush(decisions[0]))
		giver.cached = 30 * gib
		b.now = b.now.Add(5 * time.Second)
	}
}

// A rescue keeps to the policy's limit of actions a minute.
func TestRescueKeepsToLimitAMinute(t *testing.T) {
	asker := &row{command: "train.py", allocated: 40 * gib}
	giver := &row{command: "test.py", allocated: 5 * gib, cached: 30 * gib}
	b := newBox(asker, giver)
	p := rooms(Act, Importance{Command: "train.py", Value: 500})
	p.Rules[0].When.FreeBelow, p.MaxPerMinute = percent(1), 3
	e := New(p, alice)
	b.run(e, 30, nil)
	rescued := 0
	for range 10 {
		for _, d := range of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), Acts) {
			rescued++
			e.Finished(d, b.flush(d))
			giver.cached = 30 * gib
		}
	}
	if rescued != 3 {
		t.Errorf("%d rescues in ten seconds", rescued)
	}
	b.run(e, 61, nil)
	if len(of(e.Rescue(b.snapshot(), Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: 10 * gib}), Acts)) != 1 {
		t.Error("none a minute later")
	}
}
