// Package present defines the commands about the present state of this box: once, stream, headroom
// and advise. Each samples and writes what it found; only stream goes on until it is ended.
//
//	sources.Open ─→ Observe ─→ snapshot ─→ render, schema ─→ standard output
//
// Start with once.go.
package present
