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
	"vramscope/ui/dialog"
	"vramscope/ui/keys"
	"vramscope/ui/terminal"
)

// Settings are what the setup changes and the configuration file keeps.
type Settings = dialog.Settings

// Source publishes the newest snapshot in one slot.
type Source interface {
	// Latest is the newest Snapshot, nil before the first.
	Latest() *snapshot.Snapshot
	// Updates receives a token when there is a newer snapshot. It holds one token.
	Updates() <-chan struct{}
}

// Sampling controls the sampler.
type Sampling interface {
	SetInterval(interval time.Duration)
	// Align makes samples coincide with a clock that ticks every second and ticked at the given time, so
	// that both share their wake-ups.
	Align(at time.Time)
	// Suspend closes the driver, so that it can be unloaded and GPUs can sleep;
	// Resume opens it again. Both may block.
	Suspend()
	Resume()
}

// Actions are what the screen can do to processes. The key of a nil action is left out.
type Actions struct {
	// Flush makes a process free cached memory, if its identity is still the same. No step of the flush starts
	// after the end of the context.
	Flush func(context.Context, flush.Request) (flush.Result, error)
	// Server asks the server that a process belongs to what sleep or waking up would do. The result has no level
	// if no server is known. Nil: no server is asked.
	Server func(context.Context, process.Identity) (flush.Result, error)
	// Signal sends a signal, if the identity is still the same.
	Signal func(context.Context, signal.Request) (signal.Result, error)
	// Attachable examines whether a probe can be attached to a running process. The examination changes nothing
	// and may take seconds.
	Attachable func(context.Context, process.Identity) attach.Plan
	// Attach attaches a probe to a running process, if its identity is still the same, and returns
	// when the probe answers.
	Attach func(context.Context, attach.Request) (attach.Result, error)
	// AuditLog is the directory of the audit log, "" if there is none.
	AuditLog string
	// Segments asks the probe of a process for the process's segments on a GPU or MIG instance, given by UUID.
	Segments func(context.Context, process.Identity, string) (snapshot.SegmentMap, error)
	// Holders asks the probe what holds the process's allocated memory there.
	Holders func(context.Context, process.Identity, string) (snapshot.Held, error)
}

type Options struct {
	Source   Source
	Sampling Sampling // nil: the interval is fixed, and a suspension does not close the driver
	History  snapshot.History
	Actions  Actions
	// Replay says that History is a recording and that nothing is sampled. The screen starts at the moment of
	// Source and stays in the past.
	Replay bool
	// Environment reads the variables of a process that concern its use of a GPU. Nil: no such key.
	Environment func(process.Identity) ([]process.Variable, error)

	// Save writes the shown snapshot to a file. Nil: no such key.
	Save func(*snapshot.Snapshot) (path string, err error)
	// SavePage writes the explanation of an event of this time to a file. Nil: it is not saved.
	SavePage func(at time.Time, page string) (path string, err error)
	// Seen has the time up to which the user has seen incidents, by snapshot.Incident.Key. KeepSeen stores
	// Seen for the next start; if KeepSeen is nil, Seen is kept only while the screen runs.
	Seen     map[string]time.Time
	KeepSeen func(map[string]time.Time) error
	// SaveSettings writes settings to the configuration file. Nil: the setup does not offer it.
	SaveSettings func(Settings) (path string, err error)
	// PauseGuard pauses the guard, the daemon's or this program's; 0 ends the pause. Nil: no such key.
	PauseGuard func(ctx context.Context, byDaemon bool, d time.Duration) error
	// Details starts or stops reading the figures that only a GPU's page shows. It must not block.
	// Nil: these figures are read anyway, or never.
	Details func(wanted bool)
	// LookNow retries the driver at once. Nil: no such key.
	LookNow func()
	// Doctor returns the report of vramscope doctor, for a box without a driver. Nil: no such key.
	Doctor func() []string

	// Escaped is called when Esc, with nothing left to close or clear, ends the screen. Nil: Esc does not end it.
	Escaped func()

	Settings                // in force at the start; Interval is 0 if Sampling is nil
	ASCII     bool          // use ASCII glyphs in every terminal
	ReadOnly  bool          // no actions
	IdleAfter time.Duration // a GPU that holds memory and is unused for longer is marked idle
	Version   string        // of vramscope

	Input, Output *os.File
	Environ       []string
	Now           func() time.Time
}

func (o Options) abilities(t terminal.Traits) keys.Ability {
	var can keys.Ability
	for ability, bound := range map[keys.Ability]bool{
		keys.CanCopy:        !t.Console, // the Linux console has no clipboard
		keys.CanSample:      !o.Replay,
		keys.CanFlush:       o.Actions.Flush != nil,
		keys.CanSignal:      o.Actions.Signal != nil,
		keys.CanAttach:      o.Actions.Attach != nil && o.Actions.Attachable != nil,
		keys.CanMap:         o.Actions.Segments != nil,
		keys.CanHolders:     o.Actions.Holders != nil,
		keys.CanEnvironment: o.Environment != nil,
		keys.CanSave:        o.Save != nil,
		keys.CanLookNow:     o.LookNow != nil,
		keys.CanDoctor:      o.Doctor != nil,
		keys.CanPauseGuard:  o.PauseGuard != nil,
		keys.CanConfigure:   o.SaveSettings != nil,
	} {
		if bound {
			can |= ability
		}
	}
	return can
}
