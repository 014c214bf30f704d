package replay

import (
	"testing"
	"time"

	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const gib = quantity.GiB

func known(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Driver) }

// moment returns a recorded moment: a training with peaks of ten seconds, and a notebook with a
// cache.
func moment(now time.Time, training, notebook quantity.Bytes) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Time: now, Past: true, Host: snapshot.Host{User: "alice"}, Driver: snapshot.Driver{State: snapshot.DriverOK}}
	for i, row := range []struct{ allocated, cached quantity.Bytes }{{training, 0}, {gib, notebook}} {
		s.Rows = append(s.Rows, snapshot.Process{
			ID:   snapshot.RowID{Process: process.Identity{PID: 10 + i, StartTime: 1}, GPUUUID: "GPU-0"},
			User: "alice", UID: quantity.From(uint32(1000), quantity.System), Started: now.Add(-time.Hour), Used: known(row.allocated + row.cached),
			Allocated: known(row.allocated), Cached: known(row.cached), Fragmented: known(0), Returnable: known(row.cached), Probe: &snapshot.Probe{State: snapshot.ProbeLive},
		})
	}
	used := training + gib + notebook
	s.GPUs = []snapshot.GPU{{UUID: "GPU-0", State: snapshot.GPUOK, Memory: snapshot.Memory{Total: known(80 * gib), Used: known(used), Free: known(80*gib - used)}}}
	return s
}

func TestReplayKeepsWhatWouldBeFree(t *testing.T) {
	policy := guard.Policy{Mode: guard.DryRun, Rules: []guard.Rule{{
		Name: "room", When: guard.When{FreeBelow: guard.Amount{Percent: 10}, For: 2 * time.Second}, Users: guard.Own, Goal: guard.Amount{Percent: 15},
	}}}
	r := New(policy, guard.Owner{UID: 1000})
	now := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	for second := range 600 {
		training := 55 * gib
		if second%60 >= 50 {
			training = 66 * gib // with the notebook's cache: 1 GiB free
		}
		for _, d := range r.Step(moment(now.Add(time.Duration(second)*time.Second), training, 12*gib)) {
			if d.Kind == snapshot.GuardFlushed && d.Row.Process.PID != 11 {
				t.Errorf("%s", d.Message)
			}
		}
	}
	s := r.Summary()
	if s.Flushes != 1 || s.Freed != 12*gib || s.Stayed != 12*gib || s.CameBack != 0 {
		t.Errorf("%+v", s)
	}
	// Only the first of ten peaks finds the notebook's cache, for three seconds.
	if s.Below != [2]int{10, 1} || s.Seconds[0] != 100 || s.Seconds[1] < 1 || s.Seconds[1] > 5 || s.Observed != 599*time.Second {
		t.Errorf("%+v", s)
	}
}

// A notebook that needs its memory again gets it. The freed memory counts as memory that did not stay free.
func TestReplayGivesBackWhatIsNeeded(t *testing.T) {
	policy := guard.Policy{Rules: []guard.Rule{{
		Name: "room", When: guard.When{FreeBelow: guard.Amount{Percent: 10}}, Users: guard.Own, Goal: guard.Amount{Percent: 15},
	}}}
	r := New(policy, guard.Owner{UID: 1000})
	now := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	var last *snapshot.Snapshot
	for second := range 120 {
		last = moment(now.Add(time.Duration(second)*time.Second), 66*gib, 12*gib)
		if second >= 60 { // the notebook uses its cache
			p := &last.Rows[1]
			p.Allocated, p.Cached, p.Returnable = known(13*gib), known(0), known(0)
		}
		r.Step(last)
	}
	if s := r.Summary(); s.Flushes != 1 || s.Stayed != 0 || s.CameBack != 1 {
		t.Errorf("%+v", s)
	}
	if free := last.GPUs[0].Memory.Free.Or(0); free != gib {
		t.Errorf("%s are free at the end, recorded 1G", free)
	}
}
