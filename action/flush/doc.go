// Package flush makes a process free cached memory, and reports the result: by the process's probe,
// and by the driver. The key F, vramscope flush and policies all use it.
//
//	sample ── driver's figures before ─→ flush, pause, flush … ─→ new stats ─→ sample ── driver's figures after
//	                                     (steps; may be stopped)
//
// The probe measures what each step frees, the driver what the whole flush frees. What a server
// releases (server.go) only the driver measures. Start with Flusher.Run.
package flush
