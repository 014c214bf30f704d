package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// noUser is the owner of a process whose user is unknown.
const noUser = ^uint32(0)

const (
	// flushTime is how long a flush usually takes at most: four steps, the pauses between, and the
	// comparison with the driver's figure. Other users do not wait longer for it.
	flushTime = 3 * time.Second
	// failingTime is how long others do not wait at all for a user whose flush was refused, took
	// too long, or freed little.
	failingTime = 5 * time.Minute
)

// slot is a user's processes on a device. Rules flush one of them at a time.
type slot struct {
	snapshot.Place
	owner uint32
}

type slotState struct {
	until  time.Time // no rule acts before this time, while figures settle
	tokens float64   // for flushes of processes that were flushed before
	filled time.Time
}

func ownerOf(p *snapshot.Process) uint32 { return p.UID.Or(noUser) }

func (e *Engine) stateOf(s slot) *slotState {
	state := e.slots[s]
	if state == nil {
		state = &slotState{tokens: repeatBurst, filled: e.now}
		e.slots[s] = state
	}
	return state
}

// isFailing reports whether others do not wait for a user's flushes.
func (e *Engine) isFailing(owner uint32) bool { return e.now.Before(e.failing[owner]) }

// waiting returns the users who have a flush under way on a device, or whose figures settle after one.
// all is true if one of them is not failing: every user waits then, because the flush may free enough.
func (e *Engine) waiting(where snapshot.Place) (owners map[uint32]bool, all bool) {
	owners = make(map[uint32]bool)
	for id, t := range e.traces {
		if t.flight != nil && where == (snapshot.Place{GPUUUID: id.GPUUUID, Instance: id.Instance}) {
			owners[t.owner] = true
			all = all || !e.isFailing(t.owner)
		}
	}
	for s, state := range e.slots {
		if s.Place == where && e.now.Before(state.until) {
			owners[s.owner] = true
			all = all || !e.isFailing(s.owner)
		}
	}
	return owners, all
}

// watchFlight gives up an action whose outcome is never reported; others wait only for flushTime.
func (e *Engine) watchFlight(id snapshot.RowID, t *trace) {
	if t.flight == nil {
		return
	}
	began := t.flight.Time
	if e.now.Sub(began) >= flushTime {
		e.failing[t.owner] = e.now.Add(failingTime)
	}
	limit := actionTimeout
	if t.flight.Level == string(Sleep) { // action/flush itself waits a minute
		limit *= 2
	}
	if e.now.Sub(began) >= limit {
		t.flight = nil
		e.setBusy(id.Process, false)
		t.wait(began, cooldown, "a flush of it was not reported")
	}
}

// setBusy marks all rows of a process, which has one flush at a time.
func (e *Engine) setBusy(id process.Identity, busy bool) {
	for row, t := range e.traces {
		if row.Process == id {
			t.busy = busy
		}
	}
}

// tooMany returns why a user can have no action now. Users with memory to free share the limit equally.
func (e *Engine) tooMany(owner uint32) string {
	e.actions = slices.DeleteFunc(e.actions, func(a KeptAction) bool { return e.now.Sub(a.Time) >= time.Minute })
	if len(e.actions) >= e.policy.MaxPerMinute {
		return fmt.Sprintf("the limit of %d actions a minute is reached", e.policy.MaxPerMinute)
	}
	own, users := 0, len(e.sharing)
	for _, a := range e.actions {
		if a.User == owner {
			own++
		}
	}
	if !e.sharing[owner] {
		users++
	}
	if share := (e.policy.MaxPerMinute + users - 1) / users; own >= share {
		return fmt.Sprintf("the user's share of the limit of %d actions a minute is reached: %d", e.policy.MaxPerMinute, share)
	}
	return ""
}

// begin marks an action as under way, and counts it against its user.
func (e *Engine) begin(d *Decision, owner uint32) {
	t := e.traces[d.Row]
	if t.flushes > 0 {
		state := e.stateOf(slot{snapshot.Place{GPUUUID: d.GPUUUID, Instance: d.Instance}, t.owner})
		state.tokens = max(state.tokens-1, 0) // a rescue needs no token, but uses one
	}
	t.flushes++
	t.begun = t.used
	action := *d
	t.flight = &action
	e.setBusy(d.Row.Process, true)
	e.actions = append(e.actions, KeptAction{d.Time, owner})
}

// Withdraw takes back a decision that is not carried out.
func (e *Engine) Withdraw(d Decision) {
	t := e.traces[d.Row]
	if t == nil || t.flight == nil {
		return
	}
	t.flight = nil
	t.flushes--
	e.setBusy(d.Row.Process, false)
	if i := slices.IndexFunc(e.actions, func(a KeptAction) bool { return a.Time.Equal(d.Time) }); i >= 0 {
		e.actions = slices.Delete(e.actions, i, i+1)
	}
}

// off returns why a rule is turned off, and for which users; "" while it is in force for all.
func (e *Engine) off(rule int) string {
	var reasons []string
	for _, owner := range slices.Sorted(maps.Keys(e.rules[rule])) {
		if why := e.rules[rule][owner].Off; why != "" {
			reasons = append(reasons, why)
		}
	}
	return strings.Join(reasons, "; ")
}
