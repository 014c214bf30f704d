package metric

import (
	"cmp"

	"vramscope/internal/quantity"
)

// InstanceID names an instance of a MIG GPU. The zero value means "the whole GPU".
type InstanceID struct {
	MIG     bool
	GPU     uint32 // GPU instance ID, the column GI of nvidia-smi
	Compute uint32 // compute instance ID, the column CI of nvidia-smi
}

// Compare orders the instances of a GPU, after the whole GPU.
func (i InstanceID) Compare(other InstanceID) int {
	if i.MIG != other.MIG { // an instance can have the IDs 0 and 0, and so does the zero value
		return map[bool]int{true: 1, false: -1}[i.MIG]
	}
	return cmp.Or(cmp.Compare(i.GPU, other.GPU), cmp.Compare(i.Compute, other.Compute))
}

// ECC is the state of error correction. The counts start when the driver is loaded.
type ECC struct {
	Enabled     quantity.Optional[bool]   `json:"enabled"`
	Corrected   quantity.Optional[uint64] `json:"corrected"`
	Uncorrected quantity.Optional[uint64] `json:"uncorrected"`
}

// NVLink is one of a GPU's links to another GPU or to a switch.
type NVLink struct {
	Link       int                       `json:"link"` // the driver's number for the link
	Active     bool                      `json:"active"`
	Received   Int                       `json:"rx_bytes_per_second"` // the average since the last reading, payload only
	Sent       Int                       `json:"tx_bytes_per_second"`
	Replays    quantity.Optional[uint64] `json:"replays"` // this and the next two count from when the driver was loaded
	Recoveries quantity.Optional[uint64] `json:"recoveries"`
	CRCErrors  quantity.Optional[uint64] `json:"crc_errors"`
}
