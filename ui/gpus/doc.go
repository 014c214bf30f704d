// Package gpus draws the lines of the GPUs and MIG instances.
//
//	snapshot ── List ──→ lines ── Visible ──→ those that fit ── Render ──→ screen
//	width ── columnsFor ──→ cells of each figure (columns.go)
//	alerts, rows ── note ──→ the worst condition of a GPU (note.go)
//
// Start reading at Panel.
package gpus
