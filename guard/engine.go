package guard

import (
	"cmp"
	"maps"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Decision is one decision of an Engine.
type Decision = snapshot.GuardDecision

// Owner is the user that the guard works for.
type Owner struct {
	UID  uint32
	Root bool // the guard may flush other users' processes if the policy allows it
}

// Outcome is the result of a decision to act.
type Outcome struct {
	Time    time.Time      // when it ended
	Freed   quantity.Bytes // as the probe reports it
	Driver  snapshot.Bytes // by how much the process's used memory fell, by the driver; may be unknown
	Refused string         // why nothing was done; "" if something was
	Reason  string         // why less was freed than was asked
}

// Engine decides. It is not safe for concurrent use.
type Engine struct {
	policy   Policy
	patterns []patterns // parallel to policy.Importance
	owner    Owner

	began   time.Time // the time of the first snapshot
	now     time.Time // the time of the newest snapshot
	applied time.Time // when the rules were last applied

	wanted  map[string]quantity.Bytes // how much the first claim for a lease wants to be free, by UUID
	devices int                       // on how many of these
	pick    snapshot.Place            // where memory is freed for it
	picked  time.Time                 // until then, memory is freed for it nowhere else
	paused  time.Time
	cannot  string // why the engine only reports although its mode is Act

	traces   map[snapshot.RowID]*trace
	runs     map[program]*runs
	vain     map[episodeKey]*vain
	rules    []map[uint32]KeptRule // parallel to policy.Rules, each by user
	episodes map[episodeKey]*episode
	slots    map[slot]*slotState
	failing  map[uint32]time.Time // until then, other users do not wait for this user's flushes
	sharing  map[uint32]bool      // users with memory to free in the newest snapshot
	actions  []KeptAction         // the actions of the last minute
	standing map[snapshot.RowID]*snapshot.GuardStanding
	state    *snapshot.Guard
	recent   []Decision // newest first
}

// New makes an Engine.
func New(p Policy, owner Owner) *Engine {
	p.MaxPerMinute = cmp.Or(p.MaxPerMinute, DefaultMaxPerMinute)
	for i := range p.Rules {
		if len(p.Rules[i].Steps) == 0 {
			p.Rules[i].Steps = Steps()
		}
		when := &p.Rules[i].When
		when.Demand = when.Demand || when.FreeBelow.Zero() && !when.Lease // a rule with FullWithin alone
	}
	e := &Engine{policy: p, owner: owner}
	for range p.Rules {
		e.rules = append(e.rules, make(map[uint32]KeptRule))
	}
	for i := range p.Importance {
		e.patterns = append(e.patterns, p.Importance[i].patterns())
	}
	e.forget()
	e.state = e.newState(nil)
	return e
}

// forget drops the past of rows, programs and devices. Rules that were turned off stay off.
func (e *Engine) forget() {
	e.traces = make(map[snapshot.RowID]*trace)
	e.runs = make(map[program]*runs)
	e.vain = make(map[episodeKey]*vain)
	e.episodes = make(map[episodeKey]*episode)
	e.slots = make(map[slot]*slotState)
	e.failing = make(map[uint32]time.Time)
	e.standing = make(map[snapshot.RowID]*snapshot.GuardStanding)
	e.actions, e.began, e.applied = nil, time.Time{}, time.Time{}
}

// Want sets what the first claim that waits for a lease needs: how much should be free, by UUID of
// a GPU or instance, and on how many of these. It is called before Decide.
func (e *Engine) Want(free map[string]quantity.Bytes, devices int) {
	e.wanted, e.devices = free, devices
}

// Decide applies the rules to the next snapshot. The caller carries out each decision of kind
// GuardActs, without waiting for others, and passes its outcome to Finished. For a user on a device,
// rules have one flush at a time under way. The other decisions are for the record.
func (e *Engine) Decide(snap *snapshot.Snapshot) []Decision {
	if snap.Time.Before(e.now) {
		e.forget() // the clock was set back
	}
	e.now = snap.Time
	if e.began.IsZero() {
		e.began = e.now
	}
	var out []Decision
	for id, t := range e.traces {
		e.watchFlight(id, t)
		out = append(out, e.watchReturn(snap, id, t)...)
	}
	e.trace(snap)
	if !e.paused.IsZero() && !e.now.Before(e.paused) {
		e.paused = time.Time{}
		out = append(out, Decision{Time: e.now, Kind: snapshot.GuardResumed, Reason: "the pause is over"})
	}
	e.judge(snap)
	e.watchRuns(snap)
	out = append(out, e.reportUnread(snap)...)
	due := e.now.Sub(e.began) >= watchedLeast && (e.applied.IsZero() || e.now.Sub(e.applied) >= e.policy.Every)
	if e.policy.Mode != Off && e.paused.IsZero() && due && snap.Driver.State == snapshot.DriverOK {
		e.applied = e.now
		for i := range e.policy.Rules {
			out = append(out, e.apply(snap, i)...)
		}
	}
	e.note(out)
	e.state = e.newState(snap)
	return out
}

// Pause stops acting until a time, and returns that as a decision. A time in the past ends a pause.
func (e *Engine) Pause(until time.Time) Decision {
	d := Decision{Time: e.now, Kind: snapshot.GuardPaused, Reason: "asked to do nothing until " + until.Format(time.TimeOnly)}
	if e.paused = until; !e.now.Before(until) {
		e.paused = time.Time{}
		d.Kind, d.Reason = snapshot.GuardResumed, "asked to go on"
	}
	clear(e.episodes)
	return e.finish([]Decision{d})[0]
}

// Cannot makes an acting engine only report, for a reason; "" lets it act again.
func (e *Engine) Cannot(reason string) {
	if e.policy.Mode != Act || reason == e.cannot {
		return
	}
	e.cannot = reason
	clear(e.episodes)
	e.state = e.newState(nil)
}

func (e *Engine) mode() Mode {
	if e.cannot != "" {
		return DryRun
	}
	return e.policy.Mode
}

// State returns the newest state. The returned value never changes.
func (e *Engine) State() *snapshot.Guard { return e.state }

// remembered is the largest number of decisions in State.
const remembered = 32

// note writes the text of decisions and remembers them.
func (e *Engine) note(decisions []Decision) {
	for i := range decisions {
		decisions[i].Message = decisions[i].Sentence()
		e.recent = append([]Decision{decisions[i]}, e.recent[:min(len(e.recent), remembered-1)]...)
	}
}

func (e *Engine) newState(snap *snapshot.Snapshot) *snapshot.Guard {
	g := &snapshot.Guard{Mode: e.mode(), Cannot: e.cannot, Paused: e.paused, Decisions: e.recent}
	for i := range e.policy.Rules {
		rule := snapshot.GuardRule{Name: e.policy.Rules[i].Name, Off: e.off(i)}
		for key, ep := range e.episodes {
			if key.rule == i && ep.active && (rule.Reached.IsZero() || ep.since.Before(rule.Reached)) {
				rule.Reached = ep.since
			}
		}
		g.Rules = append(g.Rules, rule)
	}
	switch {
	case snap != nil:
		for i := range snap.Rows {
			if s := e.standing[snap.Rows[i].ID]; s != nil {
				g.Standings = append(g.Standings, *s)
			}
		}
	case e.state != nil:
		g.Standings = e.state.Standings
	}
	return g
}

// trace adds a snapshot to the traces, and drops those of rows that were not seen for traceKept.
func (e *Engine) trace(snap *snapshot.Snapshot) {
	for i := range snap.Rows {
		p := &snap.Rows[i]
		t := e.traces[p.ID]
		if t == nil {
			t = &trace{began: e.now}
			e.traces[p.ID] = t
		}
		t.add(e.now, p)
	}
	maps.DeleteFunc(e.traces, func(_ snapshot.RowID, t *trace) bool { return e.now.Sub(t.seen) > traceKept })
}
