// Package render writes the results of commands: as text for a terminal and for awk, as CSV, and as
// the documents of schema.
//
//	snapshot ─────────────────────→ Table, StatusLine, CSV    once
//	results of flush, headroom, … ─→ a document, and text     printed as --format says
//
// The package reads nothing and decides nothing. Text is laid out by a grid (grid.go), and is safe to
// show in a terminal. Start at table.go.
package render
