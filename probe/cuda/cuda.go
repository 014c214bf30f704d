// Package cuda is CUDA's memory as a program sees it from inside: the part of
// the driver API that this needs, loaded at run time, and a probe process
// built on it, which holds memory in a pattern and tells of it.
//
//	libcuda.so.1 ── dlopen ── library ── device (one context) ── pool, raw memory
//	                                        ↑ every call, on one OS thread
//	pattern ── live(block, time)? ──→ Process ──→ Stats, Flush ──→ probe.Server
//
// A context belongs to an OS thread and a call may hang in the driver, so that
// one goroutine, locked to its thread, makes all calls of a Process. Everybody
// else hands it work and waits as long as he likes: a hanging driver is
// answered with "busy", never waited for.
//
// A pool's stats, in bytes, all of them the driver's own:
//
//	reserved   what the pool holds of the GPU
//	allocated  what is in live blocks of it (the driver: "used")
//	cached     reserved − allocated − fragmented
//	fragmented unknown until memory has been given back; then what that had
//	           to leave behind between live blocks, as long as it is still free
//
// Until a first flush, cached and what a flush would return are therefore
// upper bounds: the basis post_flush says so to whoever reads them.
//
// Types are pure Go and build everywhere; what calls the driver is tagged
// linux && cgo and has a twin, unavailable.go.
package cuda

import "vramscope/internal/quantity"

// Device is a GPU, or a MIG instance of one, as CUDA shows it to this
// process: CUDA_VISIBLE_DEVICES hides and reorders.
type Device struct {
	Ordinal int    // CUDA's, not NVML's index
	UUID    string // in NVML's form: "GPU-…", or "MIG-…" for an instance
	GPU     string // UUID of the whole GPU; the same as UUID where it is not an instance
	Name    string
	Total   quantity.Bytes // what the driver does not keep for itself
}
