package keys

import "charm.land/bubbles/v2/key"

// ID names what a key does.
type ID uint8

// What keys do. None is no binding.
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
	GPU // a digit: which one is in the key itself
	NextAlert
	Back

	Detail
	Find
	FindNext
	FindPrevious
	Filter
	Mine
	Sort
	Reverse
	Tree
	Pin
	Zoom
	Environment
	Events
	Copy
	Save

	Flush
	Attach
	Signal
	Map
	MapAgain
	Tag
	Untag

	Freeze
	Back10s
	Forward10s
	Back1m
	Forward1m
	Live

	Slower
	Faster
	Theme
	Mouse
	Redraw
	Suspend
	Help
	Quit
	Interrupt

	LookNow
	Doctor
)

// Ability is a set of things that cli has bound for the screen to do. A key
// whose ability is missing is no key: it is in no help text and does nothing.
type Ability uint16

// The abilities.
const (
	CanSignal Ability = 1 << iota
	CanFlush
	CanAttach
	CanMap         // the map of a process's segments
	CanSave        // the snapshot, to a file
	CanEnvironment // a process's environment
	CanLookNow     // ask for the driver before its retry is due
	CanDoctor      // show doctor's findings
	CanCopy        // a clipboard through the terminal
	CanSuspend     // a job-controlling shell to go back to
	CanRun         // the command that starts a process with a probe
)

// everyAbility is what the drawings show.
const AllAbilities = CanSignal | CanFlush | CanAttach | CanMap | CanSave |
	CanEnvironment | CanLookNow | CanDoctor | CanCopy | CanSuspend | CanRun

// Scope is the part of the screen that has the keys.
type Scope uint8

// The scopes. The events and the environment are overlays that scroll; a
// prompt and a dialog read their keys themselves.
const (
	InMain Scope = 1 << iota
	InDetail
	InOverlay  // help, events, environment
	InNoDriver // the screen without a driver

	// The table has its keys also where no driver answers: its rows are then
	// the probes' alone.
	inTable    = InMain | InNoDriver
	everywhere = InMain | InDetail | InOverlay | InNoDriver
)

// Group is a heading of the help screen.
type Group string

// The headings.
const (
	GroupMove Group = "MOVE"
	GroupLook Group = "LOOK"
	GroupAct  Group = "ACT (asks first)"
	GroupPast Group = "BACK IN TIME"
	GroupSet  Group = "SET"
)

// binding is one line of the table.
type binding struct {
	key.Binding // its Help is the line on the help screen; empty where another line covers it

	ID        ID
	scope     Scope
	Group     Group
	ASCIIKeys string  // what Help().Key is where arrows cannot be drawn
	needs     Ability // what must be bound for it to work
	acts      bool    // it acts on the box: not with --read-only, not in the past
	hints     []Hint
}

// Hint is a binding's place on the bottom line. The line shows what fits, the
// lowest rank first, in the order of the positions.
type Hint struct {
	scope    Scope
	Position int
	Rank     int
	Key      string
	Text     string
}

// Bindings is the table as it holds for this run.
type Bindings struct {
	All    []binding
	byKey  map[string][]int // indices into all
	Letter string           // keys of the actions that exist: "F a x"
	bound  Ability
}

// New builds the table. Keys whose ability is missing are left out of
// it, and with readOnly so are those that act on the box.
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

// Match says what a key means here. The name is what tea.KeyPressMsg.String
// gives. It is None for a key that means nothing, and for one that acts on
// the box while the screen shows the past.
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

// Has reports whether a binding is in the table.
func (b *Bindings) Has(id ID) bool {
	for i := range b.All {
		if b.All[i].ID == id {
			return true
		}
	}
	return false
}

// Can reports whether an ability is bound, keys or not.
func (b *Bindings) Can(a Ability) bool { return b.bound&a == a }
