package sources

import (
	"slices"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// A monitor beside a daemon notes a decision of the daemon's guard once, except GuardActs and the
// decisions from before the monitor.
func TestDaemonsDecisionsAreNotedOnce(t *testing.T) {
	began := time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)
	at := func(second int, kind snapshot.GuardDecisionKind, message string) snapshot.GuardDecision {
		return snapshot.GuardDecision{Time: began.Add(time.Duration(second) * time.Second), Kind: kind, Message: message}
	}
	var noted []string
	note := func(e snapshot.Event) { noted = append(noted, e.Message) }
	decisions := []snapshot.GuardDecision{at(5, snapshot.GuardNothing, "b"), at(5, snapshot.GuardFlushed, "a"), at(4, snapshot.GuardActs, "asks"), at(-1, snapshot.GuardWould, "before")}
	last := noteDecisions(decisions, began, note)
	last = noteDecisions(decisions, last, note)
	decisions = append([]snapshot.GuardDecision{at(9, snapshot.GuardPaused, "c")}, decisions...)
	noteDecisions(decisions, last, note)
	if want := []string{"guard: a", "guard: b", "guard: c"}; !slices.Equal(noted, want) {
		t.Errorf("%v, want %v", noted, want)
	}
}
