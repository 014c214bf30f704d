package cuda

import "vramscope/internal/quantity"

// Device is a GPU, or a MIG instance, as CUDA shows it to this process:
// CUDA_VISIBLE_DEVICES hides and reorders them.
type Device struct {
	Ordinal int    // CUDA's index, not NVML's
	UUID    string // in NVML's form: "GPU-…", or "MIG-…" for an instance
	GPU     string // UUID of the whole GPU; equal to UUID except for an instance
	Name    string
	Total   quantity.Bytes // without what the driver keeps for itself
}
