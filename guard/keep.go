package guard

import (
	"maps"
	"time"

	"vramscope/sampler/snapshot"
)

// Kept is what an engine leaves to the one of the process that takes over: who is left
// alone, and until when. What it has seen of rows is seen anew.
type Kept struct {
	Paused time.Time
	Rows   []KeptRow
	Rules  map[string]map[uint32]KeptRule // by name and user
	// Actions are those of the last minute: reading the configuration anew does not
	// raise the limit.
	Actions []KeptAction
	Failing map[uint32]time.Time // users for whose flushes others do not wait until then
}

// KeptAction is an action.
type KeptAction struct {
	Time time.Time
	User uint32 // for whom it was: of a rescue, who asked
}

// KeptRow is a row that was flushed.
type KeptRow struct {
	ID      snapshot.RowID
	Until   time.Time
	Why     string
	Stage   int
	Flushes int
}

// KeptRule is what the circuit breaker of a rule knows of a user's processes.
type KeptRule struct {
	Failures int    // actions in a row that freed little
	Off      string // why the rule is turned off for them; "" while it is in force
}

// Keep is what the next engine takes over.
func (e *Engine) Keep() Kept {
	k := Kept{Paused: e.paused, Rules: make(map[string]map[uint32]KeptRule), Actions: e.actions, Failing: e.failing}
	for id, t := range e.traces {
		if t.busy { // its outcome is lost
			t.wait(e.now, actionTimeout, "a flush of it was not reported")
		}
		if t.flushes > 0 {
			k.Rows = append(k.Rows, KeptRow{ID: id, Until: t.until, Why: t.why, Stage: t.stage, Flushes: t.flushes})
		}
	}
	for i := range e.rules {
		k.Rules[e.policy.Rules[i].Name] = e.rules[i]
	}
	return k
}

// TakeOver continues from what another engine has kept. A rule of another name begins
// anew: to have one that was turned off in force again, rename it or restart the daemon.
func (e *Engine) TakeOver(k Kept, now time.Time) {
	e.paused, e.actions = k.Paused, k.Actions
	maps.Copy(e.failing, k.Failing)
	for _, row := range k.Rows {
		e.traces[row.ID] = &trace{seen: now, until: row.Until, why: row.Why, stage: row.Stage, flushes: row.Flushes}
	}
	for i := range e.rules {
		maps.Copy(e.rules[i], k.Rules[e.policy.Rules[i].Name])
	}
	e.state = e.newState(nil)
}
