// Package headroom decides whether a job fits on a GPU beside the present processes, now and for a
// while. It does no I/O.
//
//	Question ──┐
//	Snapshot ──┼─ Judge ──→ Report: an answer, and a Place for each GPU or MIG instance
//	History ───┘             free now ── forecast ──→ low point ── flushes ──→ verdict
//
// The rules are in docs/headroom.md. Start at Judge.
package headroom
