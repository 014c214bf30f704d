package guard

import (
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// backOff is how long a process is left alone after a flush that was refused, freed little, or whose
// memory came back: the first time, the second, and each further time.
var backOff = [...]time.Duration{time.Minute, 5 * time.Minute, 25 * time.Minute}

const (
	// returnTime is how soon memory must come back to show that a flush was in vain.
	returnTime = time.Minute
	// cooldown is how long a process is left alone after a flush, while the guard watches whether
	// its memory comes back.
	cooldown = returnTime

	// repeatBurst is the most tokens of a user on a device. Flushing a process again costs one, and
	// a minute adds one.
	repeatBurst = 1
	// The circuit breaker turns a rule off for a user after this many actions in a row that freed
	// less than this share of the expected memory.
	tripAfter = 3
	tripShare = .1
)

// limited returns why a rule can do nothing to a row of a device now, "" if it can.
func (e *Engine) limited(where snapshot.Place, t *trace) string {
	if limit := e.tooMany(t.owner); limit != "" {
		return limit
	}
	state := e.stateOf(slot{where, t.owner})
	state.tokens = min(state.tokens+e.now.Sub(state.filled).Minutes(), repeatBurst)
	state.filled = e.now
	if t.flushes > 0 && state.tokens < 1 {
		return "the limit of one repeated flush a minute on a GPU is reached"
	}
	return ""
}

// wait leaves the row alone for a while.
func (t *trace) wait(now time.Time, d time.Duration, why string) {
	if until := now.Add(d); until.After(t.until) {
		t.until, t.why = until, why
	}
}

// backsOff leaves the row alone for the next time of backOff, and returns that time.
func (t *trace) backsOff(now time.Time, why string) time.Duration {
	d := backOff[min(t.stage, len(backOff)-1)]
	t.stage++
	t.wait(now, d, why)
	return d
}

// Finished takes the outcome of a decision to act. It returns a decision that says whether the flush
// was done or refused and, if the circuit breaker turns the rule off, a second one that says that.
func (e *Engine) Finished(d Decision, o Outcome) []Decision {
	done := d
	done.Time = o.Time
	t := e.traces[d.Row]
	if t == nil {
		t = &trace{owner: noUser} // the process has ended
	}
	t.flight = nil
	e.setBusy(d.Row.Process, false)
	e.stateOf(slot{snapshot.Place{GPUUUID: d.GPUUUID, Instance: d.Instance}, t.owner}).until = o.Time.Add(settleTime)
	if e.pick == (snapshot.Place{GPUUUID: d.GPUUUID, Instance: d.Instance}) {
		e.picked = o.Time.Add(settleTime)
	}
	if o.Refused != "" {
		done.Kind, done.Reason = snapshot.GuardRefused, o.Refused
		t.backsOff(o.Time, "a flush was refused")
		e.failing[t.owner] = o.Time.Add(failingTime)
		return e.finish([]Decision{done})
	}
	measured := o.Driver.Or(o.Freed)
	done.Kind, done.Measured = snapshot.GuardFlushed, o.Driver
	if !o.Driver.Known() {
		done.Measured = quantity.From(o.Freed, quantity.Probe)
	}
	if o.Reason != "" {
		done.Reason += "; " + o.Reason
	}
	out := []Decision{done}
	little := float64(measured) < tripShare*float64(d.Expected.Or(0))
	if little {
		t.backsOff(o.Time, "a flush freed little")
		e.failing[t.owner] = o.Time.Add(failingTime)
	} else {
		t.wait(o.Time, cooldown, "flushed at "+o.Time.Format(time.TimeOnly))
		t.flushed = &flushed{decision: done, end: o.Time, freed: max(measured, 0)}
		if before, ok := t.begun.Value(); ok { // the program may take memory again before the next snapshot
			t.flushed.base = quantity.From(max(before-measured, 0), quantity.Computed)
		}
	}
	return e.finish(append(out, e.count(&done, t.owner, little)...))
}

func (e *Engine) finish(out []Decision) []Decision {
	e.note(out)
	e.state = e.newState(nil)
	return out
}

// count counts a rule's actions in a row on processes of a user that freed little. After tripAfter
// of them it turns the rule off for that user.
func (e *Engine) count(d *Decision, owner uint32, little bool) []Decision {
	i := slices.IndexFunc(e.policy.Rules, func(r Rule) bool { return r.Name == d.Rule })
	if i < 0 {
		return nil
	}
	b := e.rules[i][owner]
	if b.Failures++; !little {
		b.Failures = 0
	}
	tripped := *d
	if b.Failures >= tripAfter {
		b.Off = fmt.Sprintf("%d actions in a row freed less than a tenth of what was expected", tripAfter)
		if e.forAll(i) {
			b.Off = "for " + text.Clean(d.User) + ": " + b.Off
		}
		tripped.Kind, tripped.Reason = snapshot.GuardTripped, b.Off
	}
	e.rules[i][owner] = b
	if tripped.Kind != snapshot.GuardTripped {
		return nil
	}
	return []Decision{tripped}
}

// watchReturn returns a decision if half of what a flush freed comes back within returnTime.
func (e *Engine) watchReturn(snap *snapshot.Snapshot, id snapshot.RowID, t *trace) []Decision {
	f := t.flushed
	if f == nil || !e.now.After(f.end) {
		return nil
	}
	if e.now.Sub(f.end) > returnTime {
		t.flushed, t.stage = nil, 0 // the memory has stayed free
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
	if back := used - base; back >= minFlush/2 && back >= f.freed/2 {
		t.flushed = nil
		back = min(back, f.freed) // memory taken beyond what was freed is new
		d := f.decision
		d.Kind, d.Time, d.Measured = snapshot.GuardCameBack, e.now, quantity.From(back, quantity.Driver)
		d.Expected = quantity.From(f.freed, quantity.Driver)
		wait := t.backsOff(e.now, "its memory came back")
		d.Reason = fmt.Sprintf("%s of %s came back within %s: not again for %s",
			back, f.freed, quantity.Duration(max(e.now.Sub(f.end), time.Second)), quantity.BriefDuration(wait))
		return []Decision{d}
	}
	return nil
}
