package ui

import (
	"context"
	"os"
	"time"

	"vramscope/action/attach"
	"vramscope/action/flush"
	"vramscope/action/signal"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/ui/keys"
	"vramscope/ui/terminal"
)

// Source hands over what the sampler publishes: one slot, newest wins.
type Source interface {
	// Latest is the newest Snapshot, nil before the first.
	Latest() *snapshot.Snapshot
	// Updates is sent to when there is a newer one; it holds one token.
	Updates() <-chan struct{}
}

// Sampling is what the screen may change about the sampler. The methods may
// take time; they are never called from the event loop.
type Sampling interface {
	SetInterval(interval time.Duration)
	// Suspend lets go of the driver, so that it can be unloaded and a GPU can
	// sleep while nobody looks; Resume opens it again.
	Suspend()
	Resume()
}

// Actions is what the screen may do to the box. A nil one is not there: its
// key, its hint and its help are left out.
type Actions struct {
	// Flush has a process free cached memory, only if the identity still holds.
	// If the context ends no further step is begun.
	Flush func(context.Context, flush.Request) (flush.Result, error)
	// Signal sends a signal, only if the identity still holds.
	Signal func(context.Context, signal.Request) (signal.Result, error)
	// Attachable finds out whether a probe can be put into a running process,
	// and every reason why not. It changes nothing and may take a second.
	Attachable func(context.Context, process.Identity) attach.Plan
	// Attach puts a probe into a running process, only if the identity still
	// holds, and returns once the probe answers.
	Attach func(context.Context, attach.Request) (attach.Result, error)
	// AuditLog is the directory in which these are logged; "" where they are not.
	AuditLog string
	// Segments asks a process's probe where its memory on a GPU lies.
	Segments func(context.Context, process.Identity, string) (snapshot.SegmentMap, error)
}

// Options is all that Run needs to know.
type Options struct {
	Source   Source
	Sampling Sampling // nil: the interval is fixed, and suspending lets nothing go
	History  snapshot.History
	Actions  Actions
	// Environment reads what of a process's environment matters to its use of
	// a GPU, as NAME=value. Nil: not there.
	Environment func(process.Identity) ([]string, error)

	// Save writes what the screen shows to a file, and says to which. Nil: not
	// there.
	Save func(*snapshot.Snapshot) (path string, err error)
	// LookNow asks for a driver that is away without waiting for the next try.
	// Nil: not there.
	LookNow func()
	// Doctor is the report of vramscope doctor, for a box without a driver.
	// Nil: not there.
	Doctor func() []string

	Resume *Viewpoint      // of another screen, to begin with; nil: what the options say
	Leave  func(Viewpoint) // is told the last one, in the end. Nil: nobody asks

	Theme       string        // "" is themes.Default
	ASCII       bool          // draw with ASCII glyphs whatever the terminal can do
	ReadOnly    bool          // no action, whatever is bound
	Mouse       bool          // take the mouse from the start
	GraphWindow time.Duration // how far back graphs reach; 0 goes by their height: 5 or 10 minutes
	Sort        string        // the column to sort by; "" is USED
	IdleAfter   time.Duration // a GPU that holds memory and does nothing for longer is said to be idle; 0 is ten minutes
	Version     string        // of vramscope

	Input, Output *os.File         // nil: standard input and output
	Environ       []string         // nil: os.Environ()
	Now           func() time.Time // nil: time.Now
}

func (o Options) withDefaults() Options {
	if o.Input == nil {
		o.Input = os.Stdin
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.IdleAfter <= 0 {
		o.IdleAfter = idleAfter
	}
	return o
}

// idleAfter is how long a GPU must have done nothing before that is worth a
// word: shorter than a coffee, longer than an evaluation or a checkpoint.
const idleAfter = 10 * time.Minute

// abilities is what the options bind, as the key table asks for it.
func (o Options) abilities(t terminal.Traits) keys.Ability {
	can := keys.CanSuspend | keys.CanRun
	if !t.Console {
		can |= keys.CanCopy // the Linux console has no clipboard
	}
	if o.Actions.Flush != nil {
		can |= keys.CanFlush
	}
	if o.Actions.Signal != nil {
		can |= keys.CanSignal
	}
	if o.Actions.Attach != nil && o.Actions.Attachable != nil {
		can |= keys.CanAttach
	}
	if o.Actions.Segments != nil {
		can |= keys.CanMap
	}
	if o.Environment != nil {
		can |= keys.CanEnvironment
	}
	if o.Save != nil {
		can |= keys.CanSave
	}
	if o.LookNow != nil {
		can |= keys.CanLookNow
	}
	if o.Doctor != nil {
		can |= keys.CanDoctor
	}
	return can
}
