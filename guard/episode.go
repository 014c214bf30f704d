package guard

import (
	"fmt"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

type episodeKey struct {
	rule  int
	where place
}

// episode is a rule's condition on a place, from the moment at which it holds until
// the goal is reached.
type episode struct {
	since    time.Time // the condition has held without a break; zero while it does not
	active   bool      // it has held for as long as the rule asks
	step     int       // of the rule's
	done     map[snapshot.RowID]Level
	acted    int
	promised quantity.Bytes // in dry-run: what was not freed
	rest     time.Time      // in dry-run: nothing new before
	rests    int

	said   string // the reason that was given last
	saidAt time.Time
	again  bool // it was given in an episode before this one
}

const (
	// settleTime is how long after an action the figures of a GPU settle: a driver
	// shows what was freed within a second, and the next tick reads it.
	settleTime = 3 * time.Second
	// flightTime is when an action of which nothing was heard is given up: four
	// steps, each with the probe's ten seconds, and the pauses between.
	flightTime = time.Minute
)

// scene is a place in a snapshot, with the figures that rules ask for.
type scene struct {
	place
	snap           *snapshot.Snapshot
	gpu            *snapshot.GPU
	free, capacity quantity.Bytes
	fullIn         *snapshot.FullIn
}

// apply applies a rule to all its places.
func (e *Engine) apply(snap *snapshot.Snapshot, rule int) (out []Decision) {
	r := &e.policy.Rules[rule]
	if e.rules[rule].off != "" {
		return nil
	}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if !r.Covers(g) {
			continue
		}
		if len(g.Instances) == 0 && !g.MIG {
			out = append(out, e.applyAt(rule, snap, g, place{uuid: g.UUID}, &g.Memory, g.FullIn)...)
		}
		for j := range g.Instances {
			in := &g.Instances[j]
			out = append(out, e.applyAt(rule, snap, g, place{g.UUID, in.ID}, &in.Memory, in.FullIn)...)
		}
	}
	return out
}

func (e *Engine) applyAt(rule int, snap *snapshot.Snapshot, g *snapshot.GPU, where place, m *snapshot.Memory, fullIn *snapshot.FullIn) []Decision {
	key := episodeKey{rule, where}
	ep := e.episodes[key]
	if ep == nil {
		ep = &episode{}
		e.episodes[key] = ep
	}
	capacity, limited := m.Capacity().Value()
	free, known := snapshot.FreeOf(m).Value()
	if g.State != snapshot.GPUOK || !limited || !known || capacity <= 0 {
		ep.since = time.Time{} // nothing is known of it
		return nil
	}
	s := &scene{place: where, snap: snap, gpu: g, free: free, capacity: capacity, fullIn: fullIn}
	r := &e.policy.Rules[rule]
	switch holds := r.holds(s); {
	case !ep.active && !holds:
		ep.since = time.Time{}
		return nil
	case !ep.active && ep.since.IsZero():
		ep.since = e.now
	}
	if !ep.active && e.now.Sub(ep.since) < r.When.For {
		return nil
	}
	ep.active = true
	if free >= r.Goal.Of(capacity) {
		out := e.reached(r, ep, s)
		e.episodes[key] = &episode{said: ep.said, saidAt: ep.saidAt, again: true}
		return out
	}
	return e.pursue(rule, ep, s)
}

// holds reports whether the rule's condition is met.
func (r *Rule) holds(s *scene) bool {
	if below := r.When.FreeBelow; !below.Zero() && s.free >= below.Of(s.capacity) {
		return false
	}
	if within := r.When.FullWithin; within > 0 && (s.fullIn == nil || s.fullIn.Median > within) {
		return false
	}
	return s.free < r.Goal.Of(s.capacity)
}

// reached ends an episode in which something was done.
func (e *Engine) reached(r *Rule, ep *episode, s *scene) []Decision {
	if ep.acted == 0 {
		return nil
	}
	d := e.about(r, s)
	d.Kind, d.Reason = Reached, "the goal is reached after "+text.Plural(ep.acted, "flush", "flushes")
	if e.policy.Mode == DryRun {
		d.Reason = "the goal is reached, without a flush"
	}
	return []Decision{d}
}

// about begins a decision about a place.
func (e *Engine) about(r *Rule, s *scene) Decision {
	return Decision{
		Time: e.now, Rule: r.Name, GPU: s.gpu.Index, GPUUUID: s.uuid, Instance: s.instance,
		Free: quantity.From(s.free, quantity.Driver), Goal: quantity.From(r.Goal.Of(s.capacity), quantity.Computed),
	}
}

// pursue takes the next step towards the goal.
func (e *Engine) pursue(rule int, ep *episode, s *scene) []Decision {
	r, at := &e.policy.Rules[rule], e.at(s.place)
	goal := r.Goal.Of(s.capacity)
	switch {
	case at.flight != nil && e.now.Sub(at.flight.Time) < flightTime, e.now.Before(at.until), e.now.Before(ep.rest):
		return nil
	case s.free+ep.promised >= goal: // in dry-run
		ep.restart(e.now)
		return nil
	}
	if at.flight != nil {
		e.abandon(at)
	}
	for ; ep.step < len(r.Steps); ep.step++ {
		candidate := e.next(r, ep, s, r.Steps[ep.step])
		if candidate == nil {
			continue
		}
		if limit := e.limited(at, e.traces[candidate.ID]); limit != "" {
			return e.nothing(r, ep, s, limit)
		}
		return []Decision{e.flush(rule, ep, s, candidate, r.Steps[ep.step])}
	}
	out := e.nothing(r, ep, s, e.whyNone(r, s))
	ep.step, ep.done = 0, nil
	if ep.promised > 0 {
		ep.restart(e.now)
	}
	return out
}

// restart lets a dry run rest: the memory is as it was, and the same would be said.
func (ep *episode) restart(now time.Time) {
	ep.rest = now.Add(backOff[min(ep.rests, len(backOff)-1)])
	ep.rests++
	ep.step, ep.done, ep.promised = 0, nil, 0
}

// next is the row that gives next at a step, nil where there is none.
func (e *Engine) next(r *Rule, ep *episode, s *scene, step Level) *snapshot.Process {
	var best *snapshot.Process
	for p := range s.snap.GPURows(s.uuid) {
		if p.ID.Instance != s.instance || !e.gives(r, ep, s, p, step) {
			continue
		}
		if best == nil || firstToGive(e.standing[p.ID], e.standing[best.ID]) < 0 {
			best = p
		}
	}
	return best
}

// gives reports whether a row gives memory at a step. A step that is the same as the
// one before it for the process is skipped.
func (e *Engine) gives(r *Rule, ep *episode, s *scene, p *snapshot.Process, step Level) bool {
	if !e.may(s.snap, p, r.Users) || e.untouchable(s.snap, p, e.worthOf(p)) != "" {
		return false
	}
	if before, was := ep.done[p.ID]; was {
		return before == Gradual && step != Gradual && evictable(p) >= least && !e.traces[p.ID].busy
	}
	worth := worthwhile(s.capacity)
	if e.traces[p.ID].waits(e.now, p) != "" || expected(p, step) < worth {
		return false
	}
	stays := e.standing[p.ID].Stays.Or(0)
	switch step {
	case Gradual:
		return stays >= worth
	case Selective:
		return stays+evictable(p) >= worth
	}
	return true
}

// flush decides that a row is flushed.
func (e *Engine) flush(rule int, ep *episode, s *scene, p *snapshot.Process, step Level) Decision {
	r := &e.policy.Rules[rule]
	d := e.about(r, s)
	standing := e.standing[p.ID]
	d.Kind, d.Row, d.Level = Acts, p.ID, string(step)
	d.User, d.Name = p.User, nameOf(p)
	amount := expected(p, step)
	if _, again := ep.done[p.ID]; again {
		amount = evictable(p)
	}
	d.Expected = quantity.From(amount, quantity.Probe)
	d.Reason = r.because(s) + fmt.Sprintf("; importance %d, %s of %s should stay free", standing.Importance, standing.Stays.Or(0), amount)
	if ep.done == nil {
		ep.done = make(map[snapshot.RowID]Level)
	}
	ep.done[p.ID] = step
	ep.acted++
	if e.policy.Mode == DryRun {
		d.Kind = Would
		ep.promised += amount
		return d
	}
	e.begin(&d)
	return d
}

// because is what of the condition holds, with the figures.
func (r *Rule) because(s *scene) string {
	var parts []string
	if !r.When.FreeBelow.Zero() {
		parts = append(parts, fmt.Sprintf("%s free of %s, the rule asks for %s", s.free, s.capacity, r.When.FreeBelow))
	}
	if r.When.FullWithin > 0 && s.fullIn != nil {
		parts = append(parts, "full in "+quantity.Duration(s.fullIn.Median)+", the rule asks for "+quantity.Duration(r.When.FullWithin))
	}
	return strings.Join(parts, "; ")
}
