package ui

import (
	"charm.land/bubbles/v2/key"
)

// This file is the one table of keys. Update asks it what a key means, the
// help screen and the hint line are written from it, so the three cannot
// disagree.
//
//	newBindings(abilities, readOnly) ─┬─ match(key, scope, past) ─→ Update
//	                                  ├─ hints(scope, past) ──────→ keys line
//	                                  └─ help() ──────────────────→ help screen

// keyID names what a key does.
type keyID uint8

// What keys do. keyNone is no binding.
const (
	keyNone keyID = iota

	keyUp
	keyDown
	keyPageUp
	keyPageDown
	keyHome
	keyEnd
	keyLeft
	keyRight
	keyTab
	keyGPU // a digit: which one is in the key itself
	keyNextAlert
	keyBack

	keyDetail
	keyFind
	keyFindNext
	keyFindPrevious
	keyFilter
	keyMine
	keySort
	keyReverse
	keyTree
	keyPin
	keyZoom
	keyEnvironment
	keyEvents
	keyCopy
	keySave

	keyFlush
	keyAttach
	keySignal
	keyMap
	keyMapAgain
	keyTag
	keyUntag

	keyFreeze
	keyBack10s
	keyForward10s
	keyBack1m
	keyForward1m
	keyLive

	keySlower
	keyFaster
	keyTheme
	keyMouse
	keyRedraw
	keySuspend
	keyHelp
	keyQuit
	keyInterrupt

	keyLookNow
	keyDoctor
)

// ability is a set of things that cli has bound for the screen to do. A key
// whose ability is missing is no key: it is in no help text and does nothing.
type ability uint16

// The abilities.
const (
	canSignal ability = 1 << iota
	canFlush
	canAttach
	canMap         // the map of a process's segments
	canSave        // the snapshot, to a file
	canEnvironment // a process's environment
	canLookNow     // ask for the driver before its retry is due
	canDoctor      // show doctor's findings
	canCopy        // a clipboard through the terminal
	canSuspend     // a job-controlling shell to go back to
	canRun         // the command that starts a process with a probe
)

// everyAbility is what the drawings show.
const everyAbility = canSignal | canFlush | canAttach | canMap | canSave |
	canEnvironment | canLookNow | canDoctor | canCopy | canSuspend | canRun

// scope is the part of the screen that has the keys.
type scope uint8

// The scopes. The events and the environment are overlays that scroll; a
// prompt and a dialog read their keys themselves.
const (
	inMain scope = 1 << iota
	inDetail
	inOverlay  // help, events, environment
	inNoDriver // the screen without a driver

	// The table has its keys also where no driver answers: its rows are then
	// the probes' alone.
	inTable    = inMain | inNoDriver
	everywhere = inMain | inDetail | inOverlay | inNoDriver
)

// group is a heading of the help screen.
type group string

// The headings.
const (
	groupMove group = "MOVE"
	groupLook group = "LOOK"
	groupAct  group = "ACT (asks first)"
	groupPast group = "BACK IN TIME"
	groupSet  group = "SET"
)

// binding is one line of the table.
type binding struct {
	key.Binding // its Help is the line on the help screen; empty where another line covers it

	id        keyID
	scope     scope
	group     group
	asciiKeys string  // what Help().Key is where arrows cannot be drawn
	needs     ability // what must be bound for it to work
	acts      bool    // it acts on the box: not with --read-only, not in the past
	hints     []hint
}

// hint is a binding's place on the bottom line. The line shows what fits, the
// lowest rank first, in the order of the positions.
type hint struct {
	scope    scope
	position int
	rank     int
	key      string
	text     string
}

// bindings is the table as it holds for this run.
type bindings struct {
	all    []binding
	byKey  map[string][]int // indices into all
	letter string           // keys of the actions that exist: "F a x"
	bound  ability
}

// newBindings builds the table. Keys whose ability is missing are left out of
// it, and with readOnly so are those that act on the box.
func newBindings(abilities ability, readOnly bool) *bindings {
	b := &bindings{byKey: make(map[string][]int), bound: abilities}
	for _, entry := range bindingTable() {
		if entry.needs&^abilities != 0 || readOnly && entry.acts {
			continue
		}
		for _, name := range entry.Keys() {
			b.byKey[name] = append(b.byKey[name], len(b.all))
		}
		b.all = append(b.all, entry)
		if entry.group == groupAct && entry.needs != 0 {
			if b.letter != "" {
				b.letter += " "
			}
			b.letter += entry.Keys()[0]
		}
	}
	return b
}

// match says what a key means here. The name is what tea.KeyPressMsg.String
// gives. It is keyNone for a key that means nothing, and for one that acts on
// the box while the screen shows the past.
func (b *bindings) match(name string, where scope, past bool) keyID {
	for _, i := range b.byKey[name] {
		entry := &b.all[i]
		if entry.scope&where == 0 || past && entry.acts {
			continue
		}
		return entry.id
	}
	return keyNone
}

// has reports whether a binding is in the table.
func (b *bindings) has(id keyID) bool {
	for i := range b.all {
		if b.all[i].id == id {
			return true
		}
	}
	return false
}

// can reports whether an ability is bound, keys or not.
func (b *bindings) can(a ability) bool { return b.bound&a == a }
