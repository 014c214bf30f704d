package guard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// minFlush is the smallest flush worth its cost. The effect of a smaller one could not be measured:
// it is below twice the tolerance of the driver's figures.
const minFlush = 64 * quantity.MiB

// minFlushOn returns the least that a rule flushes on a device: 1/200 of its capacity, and at least
// minFlush. A flush stops the program for a moment, which little memory is not worth.
func minFlushOn(capacity quantity.Bytes) quantity.Bytes { return max(minFlush, capacity/200) }

// untouchable returns why no rule may do anything to the row; "" if a rule may.
func untouchable(snap *snapshot.Snapshot, p *snapshot.Process, i importance) string {
	distributed, known := p.Hints.Distributed.Value()
	switch {
	case i.protect:
		return "protected by the configuration"
	case p.ID.Process.Foreign():
		return p.ID.Process.Whose()
	case i.unread != "":
		return "the configuration may protect it: its " + i.unread + " could not be read"
	case distributed != "" && !i.distributed:
		return "part of a distributed job (" + distributed + "), which the configuration does not list"
	case !known && !i.distributed && !snap.Past && !snap.Simulated:
		return "it is not known whether it is part of a distributed job"
	}
	return ""
}

// exclusion returns why no rule of this engine may flush the row; "" if a rule may.
func (e *Engine) exclusion(snap *snapshot.Snapshot, p *snapshot.Process, i importance) string {
	viewer := snap.Host.User
	if e.owner.Root || snap.Simulated {
		viewer = "root"
	}
	why := untouchable(snap, p, i)
	switch {
	case why != "":
		return why
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

// stayAwake returns why a rule does not put the row's server to sleep, "" if it can.
func (e *Engine) stayAwake(rule int, snap *snapshot.Snapshot, p *snapshot.Process) string {
	s := p.Served
	if s == nil {
		return "no server of it is watched"
	}
	switch requests, counted := s.Requests.Value(); {
	case !slices.ContainsFunc(e.policy.Rules[rule].Sleep, func(pattern string) bool { return Pattern(pattern).MatchString(s.Command) }):
		return "the rule puts no such server to sleep"
	case s.Asleep.Or(false):
		return "its server sleeps"
	case s.Refused != "" || !counted:
		return "its server does not say whether it is busy"
	case requests > 0:
		return "its server is busy"
	}
	if why := cmp.Or(untouchable(snap, p, e.importanceOf(p)), e.traces[p.ID].waits(e.now, p)); why != "" {
		return why
	}
	for _, t := range e.traces { // a sleeping server releases the memory of all its processes
		if t.server == s.Process && (t.busy || e.now.Before(t.until)) {
			return "another process of its server has been asked or flushed a moment ago"
		}
	}
	return ""
}

func (e *Engine) owns(snap *snapshot.Snapshot, p *snapshot.Process) bool {
	uid, known := p.UID.Value()
	return snap.Simulated || known && uid == e.owner.UID
}

// forAll reports whether a rule may touch any user's processes.
func (e *Engine) forAll(rule int) bool { return e.policy.Rules[rule].Users == All && e.owner.Root }

// touches reports whether a rule is for the row's user.
func (e *Engine) touches(snap *snapshot.Snapshot, p *snapshot.Process, rule int) bool {
	return e.forAll(rule) || e.owns(snap, p)
}

// allowed reports whether a rule is for the row's user, and in force.
func (e *Engine) allowed(snap *snapshot.Snapshot, p *snapshot.Process, rule int) bool {
	return e.touches(snap, p, rule) && e.rules[rule][ownerOf(p)].Off == ""
}

// permitted reports whether the guard may flush the row at all: it is a row of the guard's owner, or a
// rule for its GPU allows it. Without rules, root's guard may flush the processes that
// [[guard.importance]] names.
func (e *Engine) permitted(snap *snapshot.Snapshot, p *snapshot.Process, i importance) bool {
	if len(e.policy.Rules) == 0 {
		return e.owns(snap, p) || e.owner.Root && i.named
	}
	return e.owns(snap, p) || slices.ContainsFunc(e.rulesAt(snap, p.ID.GPUUUID), func(rule int) bool { return e.allowed(snap, p, rule) })
}

// waits returns why the row is not flushed at this moment, "" if it can be.
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

// expected returns how much a flush at a level should free.
func expected(p *snapshot.Process, at Level) quantity.Bytes {
	amount := p.Frees()
	if at == Sleep && p.Served != nil {
		amount = p.Served.Releases.Or(p.Used.Or(0))
	} else if at != Gradual {
		amount += evictable(p)
	}
	return min(amount, p.Used.Or(amount))
}

// evictable returns the size of the caches that a program registered, as far as it reports them.
func evictable(p *snapshot.Process) quantity.Bytes { return max(p.EvictableBytes().Or(0), 0) }

// judge sets the standing of every row.
func (e *Engine) judge(snap *snapshot.Snapshot) {
	clear(e.standing)
	e.sharing = make(map[uint32]bool)
	inOrder := make(map[snapshot.Place][]*snapshot.GuardStanding)
	for i := range snap.Rows {
		p := &snap.Rows[i]
		t := e.traces[p.ID]
		imp := e.importanceOf(p)
		s := &snapshot.GuardStanding{Row: p.ID, Importance: imp.value, Frees: expected(p, Gradual), Stays: spare(p, p.Demand.Needs())}
		e.standing[p.ID] = s
		where := snapshot.Place{GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance}
		minimum := minFlush
		if g := snap.GPU(where.GPUUUID); g != nil {
			minimum = minFlushOn(g.MemoryOf(where.Instance).Capacity().Or(0))
		}
		excluded := e.exclusion(snap, p, imp)
		if excluded == "" && expected(p, Urgent) >= minimum && e.permitted(snap, p, imp) {
			e.sharing[t.owner] = true
		}
		rules := e.rulesAt(snap, p.ID.GPUUUID)
		anyRule := func(is func(*snapshot.Snapshot, *snapshot.Process, int) bool) bool {
			return slices.ContainsFunc(rules, func(rule int) bool { return is(snap, p, rule) })
		}
		switch {
		case len(rules) == 0:
			s.Reason = "no rule is for its GPU"
		case !anyRule(e.touches):
			s.Reason = "another user's process"
		case !anyRule(e.allowed):
			s.Reason = "the rules for it are turned off"
		default:
			s.Reason = cmp.Or(excluded, t.waits(e.now, p))
		}
		switch {
		case s.Reason != "":
		case expected(p, Urgent) < minimum:
			s.Reason = "nothing to free"
		case given(p, Urgent) < minimum:
			s.Reason = "it needs what it caches again within 10 s"
		case s.Stays.Or(0) < minimum && evictable(p) < minimum:
			s.Reason = "it needs again what it caches: urgent only"
		}
		if s.Reason != "" && slices.ContainsFunc(rules, func(rule int) bool { return e.allowed(snap, p, rule) && e.stayAwake(rule, snap, p) == "" }) {
			s.Reason = "its server is put to sleep where flushes are not enough"
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

// firstToGive orders rows: the least important first, then those with the most memory that
// should stay free.
func firstToGive(a, b *snapshot.GuardStanding) int {
	return cmp.Or(
		cmp.Compare(a.Importance, b.Importance),
		cmp.Compare(b.Stays.Or(0), a.Stays.Or(0)),
		cmp.Compare(b.Frees, a.Frees),
		cmp.Compare(a.Row.Process.PID, b.Row.Process.PID),
	)
}

func (e *Engine) rulesAt(snap *snapshot.Snapshot, uuid string) (rules []int) {
	g := snap.GPU(uuid)
	for i := range e.policy.Rules {
		if g != nil && e.policy.Rules[i].Covers(g) {
			rules = append(rules, i)
		}
	}
	return rules
}

// Covers reports whether a rule is for a GPU.
func (r *Rule) Covers(g *snapshot.GPU) bool {
	return len(r.GPUs) == 0 || slices.Contains(r.GPUs, g.UUID) || slices.Contains(r.GPUs, fmt.Sprint(g.Index))
}
