package snapshot

import (
	"time"

	"vramscope/internal/quantity"
)

// Held lists what holds the memory that a process has allocated on a device, at one moment. The
// classes sum to the allocated memory.
type Held struct {
	Time      time.Time
	Allocated quantity.Bytes
	Classes   []HeldClass
	Notes     []string // hostile input
}

// HeldClass is what one class ("parameters", "activations", …) holds. In the report of a failed
// allocation it is what one variable holds.
type HeldClass struct {
	Class string         `json:"class"`
	Name  string         `json:"name"` // of the variable, "" if there is none. Hostile input
	Bytes quantity.Bytes `json:"bytes"`
}
