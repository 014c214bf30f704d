package metric

import "vramscope/internal/quantity"

// InstanceID names an instance of a MIG GPU. The zero value means "the whole GPU".
type InstanceID struct {
	MIG     bool
	GPU     uint32 // GPU instance ID, as nvidia-smi's GI column
	Compute uint32 // compute instance ID, as nvidia-smi's CI column
}

// ECC is the state of error correction. Counts are volatile: since the last driver load.
type ECC struct {
	Enabled     quantity.Optional[bool]
	Corrected   quantity.Optional[uint64]
	Uncorrected quantity.Optional[uint64]
}

// NVLink is one link of a GPU to another one or to a switch.
type NVLink struct {
	Link           int // the driver's number
	Active         bool
	Received, Sent Int                       // bytes/s of data since the last reading
	Replays        quantity.Optional[uint64] // since the driver was loaded, as are the next
	Recoveries     quantity.Optional[uint64]
	CRCErrors      quantity.Optional[uint64]
}
