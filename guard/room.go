package guard

import (
	"time"

	"vramscope/internal/quantity"
)

// Room is what a rescue has made.
type Room struct {
	Freed quantity.Bytes // by the processes that gave
	Free  quantity.Bytes // on the GPU or instance then
}

// Rescued is what came of an allocation that was tried again.
type Rescued struct {
	Known     bool // the process has reported it
	Succeeded bool
	Waited    time.Duration // of the thread that allocates
}

// NoRescue is why nobody gave memory.
type NoRescue struct {
	Code   string // one of the daemon's protocol
	Reason string
}

// The codes.
const (
	NotActing   = "unsupported"  // the guard does not act
	RescueBusy  = "busy"         // another rescue is under way
	RescueLimit = "rate_limited" // there were too many
	NoRoom      = "no_room"      // nothing can be freed, or not enough
)

func (e *NoRescue) Error() string { return e.Reason }
