// Package render writes the results of commands: as text for a terminal and for awk, as CSV, and as
// the documents of schema.
//
//	snapshot ─────────────────────→ Table, StatusLine, CSV    once
//	results of flush, headroom, … ─→ a document, and text     printed as --format says
//
// Tables are laid out by a grid (grid.go). All text is safe to show in a terminal. Start with table.go.
package render
