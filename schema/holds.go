package schema

import (
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// HoldsDocument is what `vramscope holds --format json` writes.
type HoldsDocument struct {
	Schema string `json:"schema"`
	Time   Time   `json:"time"` // when the process was read
	Host   string `json:"host"`
	Holds  Holds  `json:"holds"`
}

// Holds lists the holders of the memory of one process.
type Holds struct {
	PID     int           `json:"pid"`
	Runtime Text          `json:"runtime"`
	Exact   bool          `json:"exact"`
	Moving  bool          `json:"moving"`
	Notes   []Text        `json:"notes"`
	TookMS  float64       `json:"ms"`
	Devices []HoldsDevice `json:"devices"`
}

// HoldsDevice is the part of Holds on one GPU or MIG instance. The classes sum to the allocated memory.
type HoldsDevice struct {
	GPU            snapshot.Int   `json:"gpu"`
	UUID           string         `json:"uuid"`
	AllocatedBytes quantity.Bytes `json:"allocated_bytes"`
	UsedBytes      snapshot.Bytes `json:"used_bytes"`
	Classes        []HeldClass    `json:"classes"`
}

// HeldClass is the memory that one class of holders holds.
type HeldClass struct {
	Class  string                   `json:"class"`
	Bytes  quantity.Bytes           `json:"bytes"`
	Blocks quantity.Optional[int64] `json:"blocks"`
}
