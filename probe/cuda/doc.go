// Package cuda holds GPU memory in a pattern, for vramscope probe. The native probe, which is
// preloaded into that process, reports and flushes the memory. The package loads libcuda at run time.
//
//	libcuda.so.1 ── dlopen ── library ── device (one context) ── pool
//	pattern ── live(block, time)? ──→ Process ── every call, on one OS thread ──↑
//
// Files that use the driver have the tag linux && cgo; unavailable.go replaces them elsewhere. Start
// reading at process.go.
package cuda
