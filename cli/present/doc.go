// Package present defines the commands about the present state of this box: once, stream, headroom
// and advise.
//
//	sources.Open ─→ Observe ─→ snapshot ─→ render, schema ─→ standard output
//
// Start with once.go.
package present
