package cuda

import (
	"fmt"
	"time"

	"vramscope/internal/quantity"
)

// Device is a GPU, or a MIG instance, as CUDA shows it to this process:
// CUDA_VISIBLE_DEVICES hides and reorders them.
type Device struct {
	Ordinal int    // CUDA's index, not NVML's
	UUID    string // in NVML's form: "GPU-…", or "MIG-…" for an instance
	GPU     string // UUID of the whole GPU; equal to UUID except for an instance
	Name    string
	Total   quantity.Bytes // without what the driver keeps for itself
}

type Options struct {
	Library string                         // path of libcuda.so.1; "": found by the loader
	Choose  func([]Device) (Device, error) // chooses one of CUDA's devices
	Pattern Pattern
	Size    quantity.Bytes // the most that the process reserves, without its context
	Seed    uint64
	Length  time.Duration // leak and staircase reach the size within this time
}

// SizeError means that a device has too little free memory.
type SizeError struct {
	Device Device
	Size   quantity.Bytes // requested
	Free   quantity.Bytes // after the probe process has made its context
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s does not fit on %s: %s is free, and %s of that is kept free",
		e.Size, e.Device.Name, e.Free, min(spare, e.Free))
}
