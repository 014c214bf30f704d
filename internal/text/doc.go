// Package text makes text from outside (command lines, user names, what
// drivers and probes answer) safe to show, and measures it in terminal cells.
//
//	hostile bytes ── Clean ──→ Printable text ── Width, Cut ──→ a cell of a table
//	locale ── UTF8 ──→ which glyphs to draw with
//
// Start with Clean: text from outside passes through it before it reaches a terminal.
package text
