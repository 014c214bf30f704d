package guard

import (
	"time"

	"vramscope/sampler/snapshot"
)

// Kept is what an engine leaves to the one of the process that takes over: who is left
// alone, and until when. What it has seen of rows is seen anew.
type Kept struct {
	Paused time.Time
	Rows   []KeptRow
	Rules  map[string]KeptRule // by name
	// Actions are those of the last minute: reading the configuration anew does not
	// raise the limit.
	Actions []time.Time
}

// KeptRow is a row that was flushed.
type KeptRow struct {
	ID      snapshot.RowID
	Until   time.Time
	Why     string
	Stage   int
	Flushes int
}

// KeptRule is what the circuit breaker knows of a rule.
type KeptRule struct {
	Failures int
	Off      string
}

// Keep is what the next engine takes over.
func (e *Engine) Keep() Kept {
	k := Kept{Paused: e.paused, Rules: make(map[string]KeptRule), Actions: e.actions}
	for id, t := range e.traces {
		if t.busy { // its outcome is lost
			t.wait(e.now, actionTimeout, "a flush of it was not reported")
		}
		if t.flushes > 0 {
			k.Rows = append(k.Rows, KeptRow{ID: id, Until: t.until, Why: t.why, Stage: t.stage, Flushes: t.flushes})
		}
	}
	for i := range e.rules {
		k.Rules[e.policy.Rules[i].Name] = KeptRule{e.rules[i].failures, e.rules[i].off}
	}
	return k
}

// TakeOver continues from what another engine has kept. A rule of another name begins
// anew: to have one that was turned off in force again, rename it or restart the daemon.
func (e *Engine) TakeOver(k Kept, now time.Time) {
	e.paused, e.actions = k.Paused, k.Actions
	for _, row := range k.Rows {
		e.traces[row.ID] = &trace{seen: now, until: row.Until, why: row.Why, stage: row.Stage, flushes: row.Flushes}
	}
	for i := range e.rules {
		kept := k.Rules[e.policy.Rules[i].Name]
		e.rules[i] = ruleState{kept.Failures, kept.Off}
	}
	e.state = e.newState(nil)
}
