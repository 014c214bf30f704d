package snapshot

import (
	"time"

	"vramscope/internal/quantity"
)

// Held lists the classes that hold the memory that a process has allocated on a device, at one
// moment. The classes sum to Allocated.
type Held struct {
	Time      time.Time
	Allocated quantity.Bytes
	Classes   []HeldClass
	Notes     []string // hostile input
}

// HeldClass is the memory that one class ("parameters", "activations", …) holds or, in the report of
// a failed allocation, one variable.
type HeldClass struct {
	Class string         `json:"class"`
	Name  string         `json:"name"` // of the variable, "" if there is none. Hostile input
	Bytes quantity.Bytes `json:"bytes"`
}
