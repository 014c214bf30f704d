package keys

import (
	"slices"

	"charm.land/bubbles/v2/key"
)

type ID uint8

// The IDs. None is no binding.
const (
	None ID = iota

	Up
	Down
	PageUp
	PageDown
	Home
	End
	Left
	Right
	Tab
	GPU // a digit
	NextAlert
	Back

	Detail
	Find
	FindNext
	FindPrevious
	Filter
	Mine
	Sort
	SortBack
	SortBy
	Reverse
	Tree
	Pin
	Zoom
	GraphStyle
	Environment
	Events
	Incident
	MarkSeen
	Copy
	Save
	Fit

	Flush
	Attach
	Signal
	Map
	Holders
	AskAgain
	Tag
	Untag
	PauseGuard

	Freeze
	Back10s
	Forward10s
	Back1m
	Forward1m
	Back1h
	Forward1h
	PreviousEvent
	NextEvent
	AskTime
	Live

	Slower
	Faster
	Setup
	Theme
	Mouse
	Redraw
	Suspend
	Help
	Quit

	LookNow
	Doctor

	GPUPage
	NextGPU
	PreviousGPU
)

// Ability is a set of things that this run can do. A key whose ability is missing is left out.
type Ability uint16

const (
	CanSignal Ability = 1 << iota
	CanFlush
	CanAttach
	CanMap         // show the map of a process's segments
	CanHolders     // show what holds a process's memory
	CanSave        // save the snapshot
	CanEnvironment // read a process's environment
	CanLookNow     // retry the driver at once
	CanDoctor      // show doctor's findings
	CanCopy        // copy through the terminal
	CanPauseGuard  // pause the guard
	CanSample      // the box is read while the screen shows it
	CanConfigure   // write the configuration file; the last one: see AllAbilities
)

const AllAbilities = CanConfigure<<1 - 1

// Scope is the part of the screen that receives the keys.
type Scope uint8

// The scopes. Prompts and questions read their keys themselves.
const (
	InMain Scope = 1 << iota
	InDetail
	InOverlay  // panels and menus over the screen
	InNoDriver // the screen without a driver
	InPage     // the page about one GPU

	// Without a driver the table lists the processes of the probes.
	inTable    = InMain | InNoDriver
	everywhere = InMain | InDetail | InOverlay | InNoDriver | InPage
	// In these scopes the screen may show the past.
	moments = InMain | InDetail | InPage
)

type Group string

const (
	GroupMove Group = "MOVE"
	GroupLook Group = "LOOK"
	GroupAct  Group = "ACT (asks first)"
	GroupPast Group = "BACK IN TIME"
	GroupSet  Group = "SET"
)

type binding struct {
	key.Binding // its Help is empty if it has no line in the help

	ID        ID
	scope     Scope
	Group     Group
	First     string // what the key does, on the first page of the help; "": not there
	ASCIIKeys string // replaces Help().Key in ASCII
	needs     Ability
	acts      bool // disabled by --read-only and in the past
	hints     []Hint
}

// Hint is a binding on the bottom line. The hints of the lowest ranks that fit are shown, in the order of Position.
type Hint struct {
	scope    Scope
	Position int
	Rank     int
	Key      string
	Text     string
}

type Bindings struct {
	All    []binding
	byKey  map[string][]int // indices into All
	Letter string           // the keys of GroupAct that need an ability: "F a x A"
	bound  Ability
}

// New returns the keys whose abilities are there. With readOnly it leaves out the keys that act.
func New(abilities Ability, readOnly bool) *Bindings {
	b := &Bindings{byKey: make(map[string][]int), bound: abilities}
	for _, entry := range bindingTable() {
		if entry.needs&^abilities != 0 || readOnly && entry.acts {
			continue
		}
		for _, name := range entry.Keys() {
			b.byKey[name] = append(b.byKey[name], len(b.All))
		}
		b.All = append(b.All, entry)
		if entry.Group == GroupAct && entry.needs != 0 {
			if b.Letter != "" {
				b.Letter += " "
			}
			b.Letter += entry.Keys()[0]
		}
	}
	return b
}

// Match returns what a key (tea.KeyPressMsg.String) does in a scope. In the past, keys that act do nothing.
func (b *Bindings) Match(name string, where Scope, past bool) ID {
	for _, i := range b.byKey[name] {
		entry := &b.All[i]
		if entry.scope&where == 0 || past && entry.acts {
			continue
		}
		return entry.ID
	}
	return None
}

// Needs returns the ability that a key needs in a scope; false if it is not bound.
func (b *Bindings) Needs(name string, where Scope) (Ability, bool) {
	for _, i := range b.byKey[name] {
		if b.All[i].scope&where != 0 {
			return b.All[i].needs, true
		}
	}
	return 0, false
}

func (b *Bindings) Has(id ID) bool {
	return slices.ContainsFunc(b.All, func(entry binding) bool { return entry.ID == id })
}

func (b *Bindings) Can(a Ability) bool { return b.bound&a == a }
