package process

import (
	"time"

	"vramscope/internal/quantity"
)

// Info is a process at one moment. What cannot be read is empty or unknown.
type Info struct {
	Identity Identity
	Parent   int
	UID      quantity.Optional[uint32]
	User     string // "" while unknown
	Name     string // comm
	Command  []string
	Started  time.Time
	Ended    bool // a zombie
	Job      Job
	CPU      quantity.Optional[float64]        // per cent of one core, since the last call
	Memory   quantity.Optional[quantity.Bytes] // resident
}

// Host is the machine, from /proc and uname.
type Host struct {
	Name        string
	User        string // who runs vramscope
	MemoryTotal quantity.Optional[quantity.Bytes]
	MemoryUsed  quantity.Optional[quantity.Bytes]
	Load        quantity.Optional[float64] // one-minute average
}
