package flush

import (
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/probe"
)

// Level is how much a flush may cost the program.
type Level = probe.Level

// The levels, gentlest first.
const (
	Gradual   = probe.Gradual   // what allocators cache, in steps if that is possible
	Selective = probe.Selective // also the caches that the program has registered
	Urgent    = probe.Urgent    // also everything else that can be collected, on all GPUs
	Sleep     = Level("sleep")  // the process's server releases what its models take, on all GPUs
	Wake      = Level("wake")   // the server takes that memory again
)

type Request struct {
	Process process.Identity
	Level   Level
	Devices []string      // UUIDs of GPUs and MIG instances; none: all that the process uses
	DryRun  bool          // report what would happen, and do nothing
	Hold    time.Duration // how long the room of a server that sleeps is held; 0: as the configuration says
	Origin  action.Origin
	Reason  string // a policy's reason, with its figures, for the audit log's first line
	// Progress gets the result so far after each step except the last and, of a server, while the
	// release is pending. It must not wait; may be nil.
	Progress func(Result)
}
