package process

import (
	"time"

	"vramscope/internal/quantity"
)

// Info is what /proc says of a process at one moment. What may not be read
// (another user's environment, say) is empty or unknown; the rest stays.
type Info struct {
	Identity   Identity
	Parent     int
	UID        quantity.Optional[uint32]
	User       string // "" where the uid has no name and is not known
	Name       string // comm
	Command    []string
	Executable string
	Started    time.Time
	Ended      bool // it is there only until its parent takes notice: a zombie
	Job        Job
	CPU        quantity.Optional[float64]        // per cent of one core since the last look
	Memory     quantity.Optional[quantity.Bytes] // resident
}

// Host is the machine as /proc and uname tell it.
type Host struct {
	Name        string
	User        string // who runs vramscope
	MemoryTotal quantity.Optional[quantity.Bytes]
	MemoryUsed  quantity.Optional[quantity.Bytes]
	Load        quantity.Optional[float64] // one-minute average
}
