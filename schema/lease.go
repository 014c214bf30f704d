package schema

import (
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// LeasesDocument is what `vramscope lease list --json` writes (docs/sharing.md).
type LeasesDocument struct {
	Schema string  `json:"schema"`
	Leases []Lease `json:"leases"`
}

// LeaseDocument is what `vramscope lease claim --json` writes.
type LeaseDocument struct {
	Schema string `json:"schema"`
	Lease  Lease  `json:"lease"`
}

// Lease is a promise of GPU memory, or a claim that waits for one.
type Lease struct {
	ID         Text           `json:"id"`    // null for another user's lease, unless root asks
	State      string         `json:"state"` // "held" or "waiting"
	NeedBytes  quantity.Bytes `json:"need_bytes"`
	Count      int            `json:"count"`
	Importance int            `json:"importance"` // from the configuration; it orders the claims that wait
	User       Text           `json:"user"`
	PID        *int           `json:"pid"`
	Command    Text           `json:"command"`
	Parent     Text           `json:"parent"`
	AskedAt    Time           `json:"asked_at"`
	Since      Time           `json:"since"`
	ForSeconds *float64       `json:"for_seconds"`
	ExpiresAt  Time           `json:"expires_at"`
	GPUs       []LeasedGPU    `json:"gpus"`
	Before     *int           `json:"before"`
	Standing   Text           `json:"standing"` // what a waiting claim lacks, in words
	Note       Text           `json:"note"`     // what is wrong with the lease
}

// LeasedGPU is a GPU or MIG instance of a lease.
type LeasedGPU struct {
	GPU       Text           `json:"gpu"` // "4", or "5:1" for a MIG instance
	UUID      string         `json:"uuid"`
	UsedBytes snapshot.Bytes `json:"used_bytes"` // by the lease's processes; null if that is not known
}
