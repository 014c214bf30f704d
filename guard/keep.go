package guard

import (
	"maps"
	"time"

	"vramscope/sampler/snapshot"
)

// Kept is the state that the engine of the next process takes over.
type Kept struct {
	Paused  time.Time
	Rows    []KeptRow
	Rules   map[string]map[uint32]KeptRule // by name and user
	Actions []KeptAction                   // of the last minute: reading the configuration again does not reset the limit
	Failing map[uint32]time.Time           // until when no other user waits for flushes of this user's processes
	Runs    []KeptRun
}

// KeptRun is what a program has needed on a device.
type KeptRun struct {
	program
	runs
}

// KeptAction is an action that counts against the limits.
type KeptAction struct {
	Time time.Time
	User uint32 // in a rescue the user who asked, otherwise the owner of the flushed process
}

// KeptRow is what is kept of a flushed row.
type KeptRow struct {
	ID      snapshot.RowID
	Until   time.Time
	Why     string
	Stage   int
	Flushes int
}

// KeptRule is the state of a rule's circuit breaker for one user's processes.
type KeptRule struct {
	Failures int    // actions in a row that freed little
	Off      string // why the rule is off for the user; "" while it is in force
}

// Keep returns the state for the next engine.
func (e *Engine) Keep() Kept {
	k := Kept{Paused: e.paused, Rules: make(map[string]map[uint32]KeptRule), Actions: e.actions, Failing: e.failing}
	for id, t := range e.traces {
		if t.busy { // the outcome of its flush will be lost
			t.wait(e.now, actionTimeout, "a flush of it was not reported")
		}
		if t.flushes > 0 {
			k.Rows = append(k.Rows, KeptRow{ID: id, Until: t.until, Why: t.why, Stage: t.stage, Flushes: t.flushes})
		}
	}
	for key, r := range e.runs {
		k.Runs = append(k.Runs, KeptRun{key, *r})
	}
	for i := range e.rules {
		k.Rules[e.policy.Rules[i].Name] = e.rules[i]
	}
	return k
}

// TakeOver continues from the state that another engine has kept. Renaming a rule turns it on again.
func (e *Engine) TakeOver(k Kept, now time.Time) {
	e.paused, e.actions = k.Paused, k.Actions
	maps.Copy(e.failing, k.Failing)
	for _, row := range k.Rows {
		e.traces[row.ID] = &trace{seen: now, until: row.Until, why: row.Why, stage: row.Stage, flushes: row.Flushes}
	}
	for _, r := range k.Runs {
		*e.runsOf(r.program) = r.runs
	}
	for i := range e.rules {
		maps.Copy(e.rules[i], k.Rules[e.policy.Rules[i].Name])
	}
	e.state = e.newState(nil)
}
