package ui

import (
	"time"

	"vramscope/sampler/snapshot"
)

// momentAt is a moment of the history, with the guard of that time; nil where there is
// none.
func momentAt(history snapshot.History, t time.Time) *snapshot.Snapshot {
	then, _ := history.At(t)
	if then == nil || then.Guard != nil {
		return then
	}
	if g := guardThen(history, then.Time); g != nil {
		with := *then
		with.Guard = g
		return &with
	}
	return then
}

// decisionsRead are the newest events among which the guard's decisions are looked for.
const decisionsRead = 500

// guardThen is what the log shows of the guard at a moment: its mode and its decisions.
// What it thought of each process, and how long a pause was to last, is not kept.
func guardThen(history snapshot.History, t time.Time) *snapshot.Guard {
	var log []snapshot.Event
	if long, ok := history.(interface {
		EventsUntil(t time.Time, limit int) []snapshot.Event
	}); ok {
		log = long.EventsUntil(t, decisionsRead)
	} else {
		log = history.Events(0)
	}
	var g *snapshot.Guard
	for i := range log {
		d := log[i].Decision
		if d == nil || log[i].Time.After(t) {
			continue
		}
		if g == nil {
			g = &snapshot.Guard{}
		}
		g.Decisions = append(g.Decisions, *d)
		switch d.Kind {
		case snapshot.GuardWould:
			setMode(g, snapshot.GuardDryRun)
		case snapshot.GuardActs, snapshot.GuardFlushed, snapshot.GuardRefused:
			setMode(g, snapshot.GuardAct)
		}
	}
	if g == nil || g.Mode == "" {
		return nil // a guard that has decided nothing yet has left no trace of its mode
	}
	return g
}

// setMode takes the newest decision that shows the mode: they come newest first.
func setMode(g *snapshot.Guard, mode snapshot.GuardMode) {
	if g.Mode == "" {
		g.Mode = mode
	}
}
