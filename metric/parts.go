package metric

import (
	"cmp"

	"vramscope/internal/quantity"
)

// InstanceID names an instance of a MIG GPU. The zero value means "the whole GPU".
type InstanceID struct {
	MIG     bool
	GPU     uint32 // GPU instance ID, as nvidia-smi's GI column
	Compute uint32 // compute instance ID, as nvidia-smi's CI column
}

// Compare orders the instances of a GPU, after the whole GPU.
func (i InstanceID) Compare(other InstanceID) int {
	if i.MIG != other.MIG { // the only instance may have the IDs 0 and 0, which the whole GPU has here, too
		return map[bool]int{true: 1, false: -1}[i.MIG]
	}
	return cmp.Or(cmp.Compare(i.GPU, other.GPU), cmp.Compare(i.Compute, other.Compute))
}

// ECC is the state of error correction. Counts are volatile: since the last driver load.
type ECC struct {
	Enabled     quantity.Optional[bool]   `json:"enabled"`
	Corrected   quantity.Optional[uint64] `json:"corrected"`
	Uncorrected quantity.Optional[uint64] `json:"uncorrected"`
}

// NVLink is one of a GPU's links to another GPU or to a switch.
type NVLink struct {
	Link       int                       `json:"link"` // the driver's number for the link
	Active     bool                      `json:"active"`
	Received   Int                       `json:"rx_bytes_per_second"` // of data, since the last reading
	Sent       Int                       `json:"tx_bytes_per_second"`
	Replays    quantity.Optional[uint64] `json:"replays"` // replays, recoveries and CRC errors count since the driver was loaded
	Recoveries quantity.Optional[uint64] `json:"recoveries"`
	CRCErrors  quantity.Optional[uint64] `json:"crc_errors"`
}
