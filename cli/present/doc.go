// Package present has the commands about this box as it is now: once, stream, headroom
// and advise. Each samples, writes what it found, and ends.
//
//	sources.Open ─→ Observe ─→ snapshot ─→ render, schema ─→ standard output
//
// Start with once.go.
package present
