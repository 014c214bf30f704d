// Package quantity has the value types that every layer shares. Bytes is an amount of memory. An
// Optional is a value that may be unknown, with its source.
//
//	a source ── From(value, source) ──→ Optional ── Value, Or ──→ a figure or a dash
//
// Start reading at Optional.
package quantity
