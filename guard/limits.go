package guard

import (
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// backOff is how long a process is left alone whose memory came back, the first,
// the second, and each further time.
var backOff = [...]time.Duration{time.Minute, 5 * time.Minute, 25 * time.Minute}

const (
	// returnTime is how soon memory comes back that a flush freed for nothing.
	returnTime = time.Minute
	// cooldown is how long a process is left alone after a flush: as long as is
	// watched what comes back.
	cooldown = returnTime

	// A process that was flushed before is flushed again at the price of a token, of
	// which a GPU has one a minute: a steady state has no more actions than that.
	repeatBurst = 1
	// A rule is turned off after so many actions in a row that freed less than this
	// share of what was expected.
	tripAfter = 3
	tripShare = .1
)

// limited is why a rule can do nothing now, "" where it can.
func (e *Engine) limited(state *deviceState, t *trace) string {
	if limit := e.tooMany(); limit != "" {
		return limit
	}
	state.tokens = min(state.tokens+e.now.Sub(state.filled).Minutes(), repeatBurst)
	state.filled = e.now
	if t.flushes > 0 && state.tokens < 1 {
		return "the limit of one repeated flush a minute on a GPU is reached"
	}
	return ""
}

// tooMany is why there can be no action at all now.
func (e *Engine) tooMany() string {
	e.actions = slices.DeleteFunc(e.actions, func(then time.Time) bool { return e.now.Sub(then) >= time.Minute })
	if len(e.actions) >= e.policy.MaxPerMinute {
		return fmt.Sprintf("the limit of %d actions a minute is reached", e.policy.MaxPerMinute)
	}
	return ""
}

// begin counts an action that is given out.
func (e *Engine) begin(d *Decision) {
	t := e.traces[d.Row]
	state := e.stateOf(device{d.GPUUUID, d.Instance})
	if t.flushes > 0 {
		state.tokens = max(state.tokens-1, 0) // a rescue does not ask for one
	}
	t.flushes++
	t.busy, t.begun = true, t.used
	action := *d
	state.inFlight = &action
	e.actions = append(e.actions, e.now)
}

// abandon gives up an action that was never reported.
func (e *Engine) abandon(state *deviceState) {
	if t := e.traces[state.inFlight.Row]; t != nil {
		t.busy = false
		t.wait(state.inFlight.Time, cooldown, "a flush of it was not reported")
	}
	state.inFlight = nil
}

// wait leaves the row alone for a while.
func (t *trace) wait(now time.Time, d time.Duration, why string) {
	if until := now.Add(d); until.After(t.until) {
		t.until, t.why = until, why
	}
}

// backsOff leaves the row alone for longer each time.
func (t *trace) backsOff(now time.Time, why string) time.Duration {
	d := backOff[min(t.stage, len(backOff)-1)]
	t.stage++
	t.wait(now, d, why)
	return d
}

// Finished takes the outcome of a decision to act, and returns what is decided of
// it: that it was done or refused and, where the circuit breaker turns its rule off,
// that too.
func (e *Engine) Finished(d Decision, o Outcome) []Decision {
	state := e.stateOf(device{d.GPUUUID, d.Instance})
	if state.inFlight != nil && state.inFlight.Row == d.Row {
		state.inFlight = nil
	}
	state.until = o.Time.Add(settleTime)
	done := d
	done.Time = o.Time
	t := e.traces[d.Row]
	if t == nil {
		t = &trace{} // it has ended
	}
	t.busy = false
	if o.Refused != "" {
		done.Kind, done.Reason = Refused, o.Refused
		t.backsOff(o.Time, "a flush was refused")
		return e.finish([]Decision{done})
	}
	measured := o.Driver.Or(o.Freed)
	done.Kind, done.Measured = Flushed, o.Driver
	if !o.Driver.Known() {
		done.Measured = quantity.From(o.Freed, quantity.Probe)
	}
	if o.Reason != "" {
		done.Reason += "; " + o.Reason
	}
	out := []Decision{done}
	if float64(measured) < tripShare*float64(d.Expected.Or(0)) {
		t.backsOff(o.Time, "a flush freed little")
		out = append(out, e.failed(&done)...)
	} else {
		e.succeeded(d.Rule)
		t.wait(o.Time, cooldown, "flushed at "+o.Time.Format(time.TimeOnly))
		t.flushed = &flushed{decision: done, end: o.Time, freed: max(measured, 0)}
		if before, ok := t.begun.Value(); ok { // a program takes memory again before the next snapshot
			t.flushed.base = quantity.From(max(before-measured, 0), quantity.Computed)
		}
	}
	return e.finish(out)
}

func (e *Engine) finish(out []Decision) []Decision {
	e.note(out)
	e.state = e.newState(nil)
	return out
}

// ruleNamed is the index of a rule, -1 where there is none.
func (e *Engine) ruleNamed(name string) int {
	return slices.IndexFunc(e.policy.Rules, func(r Rule) bool { return r.Name == name })
}

func (e *Engine) succeeded(rule string) {
	if i := e.ruleNamed(rule); i >= 0 {
		e.rules[i].failures = 0
	}
}

// failed counts an action that freed little, and turns its rule off after some.
func (e *Engine) failed(d *Decision) []Decision {
	i := e.ruleNamed(d.Rule)
	if i < 0 {
		return nil
	}
	if e.rules[i].failures++; e.rules[i].failures < tripAfter {
		return nil
	}
	e.rules[i].off = fmt.Sprintf("%d actions in a row freed less than a tenth of what was expected", tripAfter)
	tripped := *d
	tripped.Kind, tripped.Reason = Tripped, e.rules[i].off
	return []Decision{tripped}
}

// watchReturn watches what comes back after a flush, for returnTime.
func (e *Engine) watchReturn(snap *snapshot.Snapshot, id snapshot.RowID, t *trace) []Decision {
	f := t.flushed
	if f == nil || !e.now.After(f.end) {
		return nil
	}
	if e.now.Sub(f.end) > returnTime {
		t.flushed, t.stage = nil, 0 // it has stayed free
		return nil
	}
	p := snap.Row(id)
	if p == nil {
		return nil
	}
	used, ok := usedOf(p).Value()
	if !ok {
		return nil
	}
	base := min(used, f.base.Or(used))
	f.base = quantity.From(base, quantity.Driver)
	if back := used - base; back >= least/2 && back >= f.freed/2 {
		t.flushed = nil
		back = min(back, f.freed) // what it took besides is new
		d := f.decision
		d.Kind, d.Time, d.Measured = CameBack, e.now, quantity.From(back, quantity.Driver)
		d.Expected = quantity.From(f.freed, quantity.Driver)
		wait := t.backsOff(e.now, "its memory came back")
		d.Reason = fmt.Sprintf("%s of %s came back within %s: not again for %s",
			back, f.freed, quantity.Duration(max(e.now.Sub(f.end), time.Second)), quantity.BriefDuration(wait))
		return []Decision{d}
	}
	return nil
}
