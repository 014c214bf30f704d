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
	where snapshot.Place
}

// episode is the time from when a rule's condition holds on a device until its goal is reached.
type episode struct {
	since      time.Time // when the condition began to hold; zero if it broke before the episode was active, or memory is unknown
	active     bool      // the condition has held for as long as the rule asks
	step       int       // an index into the rule's steps
	done       map[snapshot.RowID]Level
	acted      int
	wouldFree  quantity.Bytes // in dry-run: what the decisions so far would have freed
	quietUntil time.Time      // in dry-run: no decision is made before
	restarts   int            // in dry-run: calls of restart

	reported   string // the last reason for doing nothing, without its digits
	reportedAt time.Time
	inherited  bool // reported is from a previous episode
}

const (
	// settleTime is how long a GPU's figures take to settle after an action: a driver shows
	// freed memory within a second, and the next tick reads it.
	settleTime = 3 * time.Second
	// actionTimeout is when the engine gives up a flush without an outcome; a sleep gets twice the
	// time. It is enough for four steps with the probe's ten seconds each, and the pauses between.
	actionTimeout = time.Minute
)

// view is a device in a snapshot, with the figures that a rule asks for.
type view struct {
	snapshot.Place
	snap           *snapshot.Snapshot
	gpu            *snapshot.GPU
	free, capacity quantity.Bytes
	demand         demand
}

func (e *Engine) apply(snap *snapshot.Snapshot, rule int) (out []Decision) {
	r := &e.policy.Rules[rule]
	if !e.forAll(rule) && e.rules[rule][e.owner.UID].Off != "" {
		return nil
	}
	var views []*view
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		add := func(where snapshot.Place, m *snapshot.Memory) {
			v := &view{Place: where, snap: snap, gpu: g}
			if free, known := snapshot.FreeOf(m).Value(); known && g.State == snapshot.GPUOK {
				v.free, v.capacity = free, m.Capacity().Or(0)
			}
			views = append(views, v)
		}
		if !r.Covers(g) {
			continue
		}
		if len(g.Instances) == 0 && !g.MIG {
			add(snapshot.Place{GPUUUID: g.UUID}, &g.Memory)
		}
		for j := range g.Instances {
			add(snapshot.Place{GPUUUID: g.UUID, Instance: g.Instances[j].ID}, &g.Instances[j].Memory)
		}
	}
	if r.When.Lease {
		e.leaseOn(rule, views)
	}
	for _, v := range views {
		out = append(out, e.applyAt(rule, v)...)
	}
	return out
}

func (e *Engine) applyAt(rule int, v *view) []Decision {
	key := episodeKey{rule, v.Place}
	ep := e.episodes[key]
	if ep == nil {
		ep = &episode{}
		e.episodes[key] = ep
	}
	if v.capacity <= 0 {
		ep.since = time.Time{} // the device's memory is unknown
		return nil
	}
	r := &e.policy.Rules[rule]
	if r.When.Demand {
		v.demand = e.demandOn(rule, v)
	}
	rests := e.rests(key, v)
	switch holds := r.holds(v); {
	case !ep.active && !holds:
		ep.since = time.Time{}
		return nil
	case !ep.active && ep.since.IsZero():
		ep.since = e.now
	}
	if rests && v.demand.bytes == 0 && v.free < r.goal(v) {
		ep.step, ep.done = 0, nil
		return nil
	}
	if !ep.active && e.now.Sub(ep.since) < r.When.For {
		return nil
	}
	ep.active = true
	if v.free >= r.goal(v) {
		out := e.reached(r, ep, v)
		e.episodes[key] = &episode{reported: ep.reported, reportedAt: ep.reportedAt, inherited: true}
		return out
	}
	return e.pursue(rule, ep, v)
}

func (r *Rule) holds(v *view) bool {
	if below := r.When.FreeBelow; !below.Zero() && v.free >= below.Of(v.capacity) {
		return false
	}
	return v.free < r.goal(v)
}

func (r *Rule) goal(v *view) quantity.Bytes {
	if r.When.Lease && v.demand.bytes == 0 {
		return 0 // no claim waits
	}
	return max(r.Goal.Of(v.capacity), v.demand.bytes)
}

// reached returns the decision that ends an episode, nil if nothing was done in the episode.
func (e *Engine) reached(r *Rule, ep *episode, v *view) []Decision {
	if ep.acted == 0 {
		return nil
	}
	d := e.newDecision(r, v)
	d.Kind, d.Reason = snapshot.GuardReached, "the goal is reached after "+text.Plural(ep.acted, "flush", "flushes")
	if e.mode() == DryRun {
		d.Reason = "the goal is reached, without a flush"
	}
	return []Decision{d}
}

func (e *Engine) newDecision(r *Rule, v *view) Decision {
	return Decision{
		Time: e.now, Rule: r.Name, GPU: v.gpu.Index, GPUUUID: v.GPUUUID, Instance: v.Instance,
		Free: quantity.From(v.free, quantity.Driver), Goal: quantity.From(r.goal(v), quantity.Computed),
	}
}

// pursue takes the next step towards the goal.
func (e *Engine) pursue(rule int, ep *episode, v *view) []Decision {
	r := &e.policy.Rules[rule]
	goal := r.goal(v)
	waiting, all := e.waiting(v.Place)
	switch {
	case all, e.now.Before(ep.quietUntil):
		return nil
	case v.free+ep.wouldFree >= goal: // in dry-run the goal would be reached
		ep.restart(e.now)
		return nil
	}
	limit := ""
	for i := ep.step; i < len(r.Steps); i++ {
		for candidate := e.next(rule, ep, v, r.Steps[i], waiting); candidate != nil; candidate = e.next(rule, ep, v, r.Steps[i], waiting) {
			why := e.limited(v.Place, e.traces[candidate.ID])
			if why == "" {
				return []Decision{e.flush(rule, ep, v, candidate, r.Steps[i])}
			}
			limit, waiting[ownerOf(candidate)] = why, true // the next user's turn
		}
		if len(waiting) == 0 {
			ep.step = i + 1
		}
	}
	switch {
	case limit != "":
		return e.nothing(r, ep, v, limit)
	case len(waiting) > 0:
		return nil
	}
	out := e.nothing(r, ep, v, e.whyNone(rule, v))
	ep.step, ep.done = 0, nil
	if ep.wouldFree > 0 {
		ep.restart(e.now)
	}
	return out
}

// restart makes a dry run wait: nothing was freed, so it would decide the same again.
func (ep *episode) restart(now time.Time) {
	ep.quietUntil = now.Add(backOff[min(ep.restarts, len(backOff)-1)])
	ep.restarts++
	ep.step, ep.done, ep.wouldFree = 0, nil, 0
}

// next returns the next row to flush at a step, nil if there is none. It skips users in waiting.
func (e *Engine) next(rule int, ep *episode, v *view, step Level, waiting map[uint32]bool) *snapshot.Process {
	var best *snapshot.Process
	for p := range v.snap.PlaceRows(v.Place) {
		if waiting[ownerOf(p)] || !e.gives(rule, ep, v, p, step) {
			continue
		}
		if best == nil || firstToGive(e.standing[p.ID], e.standing[best.ID]) < 0 {
			best = p
		}
	}
	return best
}

// gives reports whether a row is flushed at a step. A step is skipped if it would do the same to
// the process as the previous one.
func (e *Engine) gives(rule int, ep *episode, v *view, p *snapshot.Process, step Level) bool {
	goalOfDemand := e.policy.Rules[rule].When.Demand && v.demand.bytes == 0
	if step == Sleep {
		return !goalOfDemand && ep.done[p.ID] != Sleep && e.allowed(v.snap, p, rule) && e.givesFor(&v.demand, p, step) &&
			e.stayAwake(rule, v.snap, p) == "" && expected(p, step) >= minFlushOn(v.capacity)
	}
	if !e.allowed(v.snap, p, rule) || !e.givesFor(&v.demand, p, step) || e.exclusion(v.snap, p, e.importanceOf(p)) != "" {
		return false
	}
	if before, was := ep.done[p.ID]; was {
		return before == Gradual && step != Gradual && evictable(p) >= minFlush && !e.traces[p.ID].busy
	}
	minimum := minFlushOn(v.capacity)
	if e.traces[p.ID].waits(e.now, p) != "" || given(p, step) < minimum {
		return false
	}
	stays := e.standing[p.ID].Stays.Or(0)
	switch {
	case step == Gradual, goalOfDemand: // only memory that should stay free counts
		return stays >= minimum
	case step == Selective:
		return stays+evictable(p) >= minimum
	}
	return true
}

func (e *Engine) flush(rule int, ep *episode, v *view, p *snapshot.Process, step Level) Decision {
	r := &e.policy.Rules[rule]
	d := e.newDecision(r, v)
	standing := e.standing[p.ID]
	d.Kind, d.Row, d.Level = snapshot.GuardActs, p.ID, string(step)
	d.User, d.Name = p.User, text.Clean(p.ProgramName())
	amount := expected(p, step)
	if _, again := ep.done[p.ID]; again && step != Sleep {
		amount = evictable(p)
	}
	d.Expected = quantity.From(amount, quantity.Probe)
	d.Reason = r.condition(v) + fmt.Sprintf("; importance %d, %s of %s should stay free", standing.Importance, standing.Stays.Or(0), amount)
	if step == Sleep {
		d.Reason = r.condition(v) + fmt.Sprintf("; importance %d, %s has no requests", standing.Importance, p.Served.Name)
	}
	if ep.done == nil {
		ep.done = make(map[snapshot.RowID]Level)
	}
	ep.done[p.ID] = step
	for id, t := range e.traces {
		if step == Sleep && t.server == p.Served.Process {
			ep.done[id] = step
		}
	}
	ep.acted++
	if v.demand.lease {
		e.pick, e.picked = v.Place, e.now.Add(actionTimeout)
	}
	if e.mode() == DryRun {
		d.Kind = snapshot.GuardWould
		ep.wouldFree += amount
		return d
	}
	e.begin(&d, ownerOf(p))
	if r.When.Demand && v.demand.bytes == 0 {
		e.vain[episodeKey{rule, v.Place}] = &vain{began: e.now, free: v.free + amount/2, until: e.now.Add(returnTime)}
	}
	return d
}

// condition describes which part of the condition holds, with the figures.
func (r *Rule) condition(v *view) string {
	var parts []string
	if !r.When.FreeBelow.Zero() {
		parts = append(parts, fmt.Sprintf("%s free of %s, the rule asks for %s", v.free, v.capacity, r.When.FreeBelow))
	}
	switch d := v.demand; {
	case d.important:
		parts = append(parts, fmt.Sprintf("%s free, important programs will need %s", v.free, d.bytes))
	case d.lease:
		parts = append(parts, fmt.Sprintf("%s free, %s would have to be for a lease that waits", v.free, d.bytes))
	case d.bytes > 0:
		parts = append(parts, fmt.Sprintf("%s free, %s will need %s", v.free, text.Clean(d.whose.Name), d.bytes))
	case r.When.Demand:
		parts = append(parts, fmt.Sprintf("%s free of %s, the rule keeps %s", v.free, v.capacity, r.Goal))
	}
	return strings.Join(parts, "; ")
}
