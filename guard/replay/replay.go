package replay

import (
	"slices"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Summary counts what the policy would have done.
type Summary struct {
	From, To time.Time
	Observed time.Duration // the time covered, without gaps
	Flushes  int
	Freed    quantity.Bytes
	Stayed   quantity.Bytes // the part of Freed that was still free a minute later
	CameBack int
	Below    [2]int     // how often free memory fell below a rule's threshold: without the policy, and with it
	Seconds  [2]float64 // for how long it was below
}

// Replay replays one policy.
type Replay struct {
	policy  guard.Policy
	engine  *guard.Engine
	demands snapshot.Demands
	ledgers map[snapshot.RowID]*ledger
	below   map[string]*[2]bool // by GPU: whether free memory is below a threshold, without the policy and with it
	watched []watched
	summary Summary
	before  time.Time
}

// ledger is the memory that a flushed process would reserve.
type ledger struct {
	reserved quantity.Bytes
	saved    quantity.Bytes // how much less than recorded, at the newest step
}

// watched is a flush of the last minute: how much of it stays free is not known yet.
type watched struct {
	row   snapshot.RowID
	freed quantity.Bytes
	at    time.Time
}

const (
	// A longer step is a gap, and is not counted.
	longestStep = 30 * time.Second
	stayTime    = time.Minute
)

// New returns a Replay. The policy acts, whatever its mode is.
func New(policy guard.Policy, owner guard.Owner) *Replay {
	policy.Mode = guard.Act
	return &Replay{
		policy: policy, engine: guard.New(policy, owner), demands: make(snapshot.Demands), ledgers: make(map[snapshot.RowID]*ledger),
		below: make(map[string]*[2]bool),
	}
}

// Step takes the next moment, and returns the decisions that would have been made. The replay
// takes over the snapshot and changes it.
func (r *Replay) Step(snap *snapshot.Snapshot) (all []guard.Decision) {
	step := snap.Time.Sub(r.before)
	if r.before.IsZero() || step > longestStep || step < 0 {
		step = 0
	}
	if r.before.IsZero() {
		r.summary.From = snap.Time
	}
	r.before, r.summary.To = snap.Time, snap.Time
	r.summary.Observed += step
	r.count(snap, step, 0)
	r.adjust(snap)
	r.count(snap, step, 1)
	r.settle(snap)
	r.demands.Estimate(snap)
	for _, d := range r.engine.Decide(snap) {
		switch d.Kind {
		case snapshot.GuardActs:
			all = append(all, r.engine.Finished(d, r.flush(snap, &d))...)
			continue
		case snapshot.GuardCameBack:
			r.summary.CameBack++
		}
		all = append(all, d)
	}
	return all
}

// Summary covers all steps so far.
func (r *Replay) Summary() Summary {
	s := r.summary
	for _, w := range r.watched { // the recording ends less than a minute after the flush
		s.Stayed += r.stays(&w)
	}
	return s
}

// stays returns how much of the freed memory is still free.
func (r *Replay) stays(w *watched) quantity.Bytes {
	if l := r.ledgers[w.row]; l != nil {
		return min(w.freed, l.saved)
	}
	return 0
}

// flush changes the ledger as a flush would have changed the memory.
func (r *Replay) flush(snap *snapshot.Snapshot, d *guard.Decision) guard.Outcome {
	p := snap.Row(d.Row)
	freed := min(p.Returnable.Or(0), p.Cached.Or(p.Returnable.Or(0)))
	l := r.ledgers[d.Row]
	if l == nil {
		l = &ledger{}
		r.ledgers[d.Row] = l
	}
	l.reserved, l.saved = p.Reserved().Or(0)-freed, l.saved+freed
	r.summary.Flushes++
	r.summary.Freed += freed
	r.watched = append(r.watched, watched{d.Row, freed, snap.Time})
	return guard.Outcome{Time: snap.Time, Freed: freed, Driver: quantity.From(freed, quantity.Computed)}
}

// adjust subtracts from a snapshot the memory that would have been free.
func (r *Replay) adjust(snap *snapshot.Snapshot) {
	freed, instances := make(map[string]quantity.Bytes), make(map[snapshot.RowID]quantity.Bytes) // instances is keyed by a RowID without a process
	for id := range r.ledgers {
		if snap.Row(id) == nil {
			delete(r.ledgers, id)
		}
	}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		l := r.ledgers[p.ID]
		if l == nil || !p.Allocated.Known() {
			continue
		}
		// The process would have reserved again what it needs. Memory that it freed by itself
		// is free with and without the flush.
		l.reserved = min(max(l.reserved, p.Allocated.Or(0)+p.Fragmented.Or(0)), p.Reserved().Or(0))
		less := min(max(p.Reserved().Or(0)-l.reserved, 0), p.Cached.Or(0))
		l.saved = less
		if less <= 0 {
			delete(r.ledgers, p.ID)
			continue
		}
		p.Used, p.Cached, p.Returnable = minus(p.Used, less), minus(p.Cached, less), minus(p.Returnable, less)
		freed[p.ID.GPUUUID] += less
		instances[snapshot.RowID{GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance}] += less
	}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		take(&g.Memory, freed[g.UUID])
		for j := range g.Instances {
			take(&g.Instances[j].Memory, instances[snapshot.RowID{GPUUUID: g.UUID, Instance: g.Instances[j].ID}])
		}
	}
}

func minus(b snapshot.Bytes, less quantity.Bytes) snapshot.Bytes {
	v, ok := b.Value()
	if !ok {
		return b
	}
	return quantity.From(max(v-less, 0), quantity.Computed)
}

func take(m *snapshot.Memory, less quantity.Bytes) {
	m.Used = minus(m.Used, less)
	if free, ok := m.Free.Value(); ok {
		m.Free = quantity.From(free+less, quantity.Computed)
	}
}

// settle counts how much of the memory flushed a minute ago has stayed free.
func (r *Replay) settle(snap *snapshot.Snapshot) {
	r.watched = slices.DeleteFunc(r.watched, func(w watched) bool {
		if snap.Time.Sub(w.at) < stayTime {
			return false
		}
		r.summary.Stayed += r.stays(&w)
		return true
	})
}

// count counts how often and how long free memory is low. which is 0 without the policy, 1 with it.
func (r *Replay) count(snap *snapshot.Snapshot, step time.Duration, which int) {
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		free, ok := snapshot.FreeOf(&g.Memory).Value()
		capacity, limited := g.Memory.Capacity().Value()
		if !ok || !limited || g.State != snapshot.GPUOK {
			continue
		}
		low := false
		for j := range r.policy.Rules {
			rule := &r.policy.Rules[j]
			least := rule.When.FreeBelow
			if rule.When.Demand {
				least = rule.Goal
			}
			low = low || rule.Covers(g) && free < least.Of(capacity)
		}
		was := r.below[g.UUID]
		if was == nil {
			was = new([2]bool)
			r.below[g.UUID] = was
		}
		if low {
			r.summary.Seconds[which] += step.Seconds()
			if !was[which] {
				r.summary.Below[which]++
			}
		}
		was[which] = low
	}
}
