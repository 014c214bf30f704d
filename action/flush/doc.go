// Package flush has a process free cached memory, and reports what came of it: by the process's
// probe, and by the driver. It is the same for the key F, for vramscope flush and for policies.
//
//	sample ── driver's figures before ─→ flush, pause, flush … ─→ new stats ─→ sample ── driver's figures after
//	                                     (steps; may be stopped)
//
// The probe measures what each step frees, the driver what the whole flush
// frees. Start with Flusher.Run.
package flush
