// Package cuda is a probe process of its own: it holds GPU memory in a pattern,
// reports it and flushes it. It loads the part of the CUDA driver API that it
// needs at run time.
//
//	libcuda.so.1 ── dlopen ── library ── device (one context) ── pool, raw memory
//	                                        ↑ every call, on one OS thread
//	pattern ── live(block, time)? ──→ Process ──→ Stats, Flush ──→ probe.Server
//
// A context belongs to an OS thread, and a call may hang in the driver. Therefore
// one goroutine, locked to its thread, makes all calls of a Process. Callers wait
// as long as their context allows, and then get ErrBusy.
//
// A pool's stats in bytes, all from the driver:
//
//	reserved   what the pool holds of the GPU
//	allocated  what is in live blocks (the driver's "used")
//	cached     reserved − allocated − fragmented
//	fragmented unknown until a flush; then what the flush could not free, as long
//	           as it stays unused
//
// Until the first flush, cached and returnable are therefore upper bounds, which
// the basis post_flush expresses.
//
// The types are pure Go and build everywhere. Files that call the driver have the
// tag linux && cgo; unavailable.go replaces them elsewhere.
//
// Start reading at process.go; pattern.go and plan.go have no driver in them.
package cuda
