package guard

import (
	"fmt"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const gib = quantity.GiB

// box is a GPU of 80 GiB with processes, sampled once a second.
type box struct {
	now    time.Time
	rows   []*row
	total  quantity.Bytes
	host   string
	failed []snapshot.Event
	blind  bool // the driver does not report used and free memory
	demand snapshot.Demands
}

// row is a process of a box.
type row struct {
	pid               int
	uid               uint32
	user, command     string
	job               process.Job
	allocated, cached quantity.Bytes
	evictable         quantity.Bytes // of allocated
	peak              quantity.Bytes // of allocated, by the allocator; 0: it reports none
	importance        snapshot.Int
	distributed       string
	probe             *snapshot.Probe
	unknown           bool // its parts are unknown
	started           time.Time
	gone              bool
	served            *snapshot.Served
}

func newBox(rows ...*row) *box {
	b := &box{now: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC), rows: rows, total: 80 * gib, host: "alice", demand: make(snapshot.Demands)}
	for i, r := range rows {
		r.pid = 100 + i
		if r.user == "" {
			r.user, r.uid = "alice", 1000
		}
		if r.probe == nil {
			r.probe = &snapshot.Probe{State: snapshot.ProbeLive, Capabilities: []string{"flush"}}
		}
		if r.started.IsZero() {
			r.started = b.now.Add(-time.Hour)
		}
	}
	return b
}

func (b *box) used() (sum quantity.Bytes) {
	for _, r := range b.rows {
		if !r.gone {
			sum += r.allocated + r.cached
		}
	}
	return sum
}

func known(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Driver) }

const uuid = "GPU-0"

func (r *row) id() snapshot.RowID {
	return snapshot.RowID{Process: process.Identity{PID: r.pid, StartTime: 1, Namespace: 1}, GPUUUID: uuid}
}

// snapshot returns the box a second later.
func (b *box) snapshot() *snapshot.Snapshot {
	b.now = b.now.Add(time.Second)
	s := &snapshot.Snapshot{Time: b.now, Interval: time.Second, Host: snapshot.Host{User: b.host}, Driver: snapshot.Driver{State: snapshot.DriverOK}, Failures: b.failed}
	g := snapshot.GPU{UUID: uuid, State: snapshot.GPUOK}
	g.Memory = snapshot.Memory{Total: known(b.total), Used: known(b.used()), Free: known(b.total - b.used())}
	if b.blind {
		g.Memory = snapshot.Memory{Total: known(b.total)}
	}
	s.GPUs = []snapshot.GPU{g}
	for _, r := range b.rows {
		if r.gone {
			continue
		}
		probe := *r.probe
		p := snapshot.Process{
			ID: r.id(), Job: r.job, User: r.user, UID: quantity.From(r.uid, quantity.System), Command: []string{r.command}, Name: r.command, Started: r.started,
			Hints: process.Hints{Importance: r.importance, Distributed: quantity.From(r.distributed, quantity.System)},
			Used:  known(r.allocated + r.cached), Probe: &probe, Served: r.served,
		}
		if !r.unknown {
			p.Allocated, p.Cached, p.Fragmented, p.Returnable = known(r.allocated), known(r.cached), known(0), known(r.cached)
		}
		if r.peak > 0 {
			p.Allocators = []snapshot.Allocator{{PeakAllocated: known(r.peak)}}
		}
		if r.evictable > 0 {
			p.Evictable = []snapshot.Evictable{{Name: "kv", Bytes: known(min(r.evictable, r.allocated))}}
		}
		s.Rows = append(s.Rows, p)
	}
	b.demand.Estimate(s)
	return s
}

// row returns a process as the next snapshot has it.
func (b *box) row(r *row) *snapshot.Process { return b.snapshot().Row(r.id()) }

// flush carries out a decision, and returns the outcome.
func (b *box) flush(d Decision) Outcome {
	for _, r := range b.rows {
		if r.id() == d.Row && d.Level == string(Sleep) {
			freed := r.allocated
			r.allocated, r.served = 0, &snapshot.Served{Command: r.served.Command, Asleep: quantity.From(true, quantity.Probe)}
			return Outcome{Time: b.now, Freed: freed, Driver: known(freed)}
		}
		if r.id() == d.Row && !r.gone {
			freed := r.cached
			r.cached = 0
			if d.Level != string(Gradual) {
				freed += min(r.evictable, r.allocated)
				r.allocated, r.evictable = r.allocated-min(r.evictable, r.allocated), 0
			}
			return Outcome{Time: b.now, Freed: freed, Driver: known(freed)}
		}
	}
	return Outcome{Time: b.now, Refused: "it has exited"}
}

// run passes the box's snapshots to an engine for some seconds. change is called each second, and
// the engine's decisions are carried out. run returns all decisions.
func (b *box) run(e *Engine, seconds int, change func(second int)) (all []Decision) {
	for i := range seconds {
		if change != nil {
			change(i)
		}
		for _, d := range e.Decide(b.snapshot()) {
			all = append(all, d)
			if d.Kind == snapshot.GuardActs {
				all = append(all, e.Finished(d, b.flush(d))...)
			}
		}
	}
	return all
}

// of returns the decisions of a kind.
func of(all []Decision, kind snapshot.GuardDecisionKind) (some []Decision) {
	for _, d := range all {
		if d.Kind == kind {
			some = append(some, d)
		}
	}
	return some
}

func pids(all []Decision) string {
	s := ""
	for _, d := range all {
		s += fmt.Sprintf("%d ", d.Row.Process.PID)
	}
	return s
}

func percent(p float64) Amount { return Amount{Percent: p} }

// rooms returns a policy with one rule: if less than 10 % is free for 10 s, the goal is 15 %.
func rooms(mode Mode, importance ...Importance) Policy {
	return Policy{Mode: mode, Importance: importance, Rules: []Rule{{
		Name: "room", When: When{FreeBelow: percent(10), For: 10 * time.Second}, Users: Own, Goal: Amount{Percent: 15},
	}}}
}

var alice = Owner{UID: 1000}
