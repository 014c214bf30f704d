// Package cuda holds GPU memory in a pattern, for vramscope probe. The native probe,
// which is preloaded into that process, reports and flushes it. The package loads
// the part of the CUDA driver API that it needs at run time.
//
//	libcuda.so.1 ── dlopen ── library ── device (one context) ── pool
//	pattern ── live(block, time)? ──→ Process ── every call, on one OS thread ──↑
//
// The types are pure Go and build everywhere. Files that call the driver have the
// tag linux && cgo; unavailable.go replaces them elsewhere.
//
// Start reading at process.go; pattern.go and plan.go have no driver in them.
package cuda
