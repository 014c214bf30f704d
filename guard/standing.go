package guard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// least is the least that is worth a flush: below twice the tolerance of the
// driver's figure nothing could be measured.
const least = 64 * quantity.MiB

// minFlushOn is the least that a rule flushes for on a GPU of that capacity: a part
// of it in two hundred. A flush stops the program for a moment, and a threshold is
// some per cent of the GPU: for less a full server would be flushed without end.
func minFlushOn(capacity quantity.Bytes) quantity.Bytes { return max(least, capacity/200) }

// exclusion is why no rule may touch the row, "" where one may: what holds
// whoever's it is.
func (e *Engine) exclusion(snap *snapshot.Snapshot, p *snapshot.Process, i importance) string {
	viewer := snap.Host.User
	if e.owner.Root || snap.Simulated {
		viewer = "root"
	}
	distributed, known := p.Hints.Distributed.Value()
	switch {
	case i.protect:
		return "protected by the configuration"
	case p.ID.Process.Foreign():
		return p.ID.Process.Whose()
	case distributed != "" && !i.distributed:
		return "part of a distributed job (" + distributed + "), which the configuration does not list"
	case !known && !i.distributed && !snap.Past && !snap.Simulated:
		return "it is not known whether it is part of a distributed job"
	case p.FlushRefusal(viewer) != "":
		return p.FlushRefusal(viewer)
	case p.Probe == nil:
		return "no probe"
	case p.Probe.Mismatch:
		return "its probe's figures differ from the driver's"
	case p.Probe.State != snapshot.ProbeLive:
		return "its probe's figures are old"
	case len(p.Probe.Capabilities) > 0 && !slices.Contains(p.Probe.Capabilities, "flush"):
		return "its probe cannot flush"
	case !p.Returnable.Known() || !p.Allocated.Known():
		return "its figures are unknown"
	}
	return ""
}

// owns reports whether the row is the owner's.
func (e *Engine) owns(snap *snapshot.Snapshot, p *snapshot.Process) bool {
	uid, known := p.UID.Value()
	return snap.Simulated || known && uid == e.owner.UID
}

// allowed reports whether a rule for these users may touch the row.
func (e *Engine) allowed(snap *snapshot.Snapshot, p *snapshot.Process, users Users) bool {
	return users == All && e.owner.Root || e.owns(snap, p)
}

// waits is why the row is not flushed at this moment, "" where it could be.
func (t *trace) waits(now time.Time, p *snapshot.Process) string {
	age := now.Sub(t.began)
	if !p.Started.IsZero() {
		age = now.Sub(p.Started)
	}
	switch {
	case t.busy:
		return "it is being flushed"
	case now.Before(t.until):
		return t.why + ": not again before " + t.until.Format(time.TimeOnly)
	case age < loadTime || now.Sub(t.began) < watchedLeast:
		return "it has just started, and may be loading"
	case t.grows():
		return "it is taking memory"
	case !t.emptied.IsZero() && now.Sub(t.emptied) < emptiedCooldown:
		return "its cache was emptied at " + t.emptied.Format(time.TimeOnly)
	}
	return ""
}

// expected is what a flush frees at a level by known figures.
func expected(p *snapshot.Process, at Level) quantity.Bytes {
	amount := p.Frees()
	if at != Gradual {
		amount += evictable(p)
	}
	return min(amount, p.Used.Or(amount))
}

// evictable is what a program's own caches have, as far as it reports that.
func evictable(p *snapshot.Process) quantity.Bytes { return max(p.EvictableBytes().Or(0), 0) }

// judge sets the standing of every row.
func (e *Engine) judge(snap *snapshot.Snapshot) {
	clear(e.standing)
	inOrder := make(map[device][]*snapshot.GuardStanding)
	for i := range snap.Rows {
		p := &snap.Rows[i]
		t := e.traces[p.ID]
		imp := e.importanceOf(p)
		s := &snapshot.GuardStanding{Row: p.ID, Importance: imp.value, Frees: expected(p, Gradual), Stays: t.stays(e.now, p)}
		e.standing[p.ID] = s
		where := device{p.ID.GPUUUID, p.ID.Instance}
		minimum := least
		if g := snap.GPU(where.uuid); g != nil {
			minimum = minFlushOn(g.Memory.Capacity().Or(0))
			if in := g.Instance(where.instance); in != nil {
				minimum = minFlushOn(in.Memory.Capacity().Or(0))
			}
		}
		rules := e.rulesAt(snap, p.ID.GPUUUID)
		switch {
		case len(rules) == 0:
			s.Reason = "no rule is for its GPU"
		case !slices.ContainsFunc(rules, func(r *Rule) bool { return e.allowed(snap, p, r.Users) }):
			s.Reason = "another user's process"
		default:
			s.Reason = cmp.Or(e.exclusion(snap, p, imp), t.waits(e.now, p))
		}
		switch {
		case s.Reason != "":
		case expected(p, Urgent) < minimum:
			s.Reason = "nothing to free"
		case s.Stays.Or(0) < minimum && evictable(p) < minimum:
			s.Reason = "it needs again what it caches: urgent only"
		}
		if s.Reason == "" {
			inOrder[where] = append(inOrder[where], s)
		}
	}
	for _, standings := range inOrder {
		slices.SortStableFunc(standings, firstToGive)
		for i, s := range standings {
			s.Order = i + 1
		}
	}
}

// firstToGive orders rows: the least important, then who has most that should stay
// free.
func firstToGive(a, b *snapshot.GuardStanding) int {
	return cmp.Or(
		cmp.Compare(a.Importance, b.Importance),
		cmp.Compare(b.Stays.Or(0), a.Stays.Or(0)),
		cmp.Compare(b.Frees, a.Frees),
		cmp.Compare(a.Row.Process.PID, b.Row.Process.PID),
	)
}

// rulesAt are the rules for a GPU that are in force.
func (e *Engine) rulesAt(snap *snapshot.Snapshot, uuid string) (rules []*Rule) {
	g := snap.GPU(uuid)
	for i := range e.policy.Rules {
		if r := &e.policy.Rules[i]; g != nil && r.Covers(g) && e.rules[i].off == "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// Covers reports whether a rule is for a GPU.
func (r *Rule) Covers(g *snapshot.GPU) bool {
	return len(r.GPUs) == 0 || slices.Contains(r.GPUs, g.UUID) || slices.Contains(r.GPUs, fmt.Sprint(g.Index))
}
