// Package headroom decides whether a job fits on a GPU: now, and for a while beside the present
// processes. It computes only from a snapshot and its history, and does no IO.
//
//	Question ──┐
//	Snapshot ──┼─ Judge ──→ Report: an answer, and a Place for each GPU or MIG instance
//	History ───┘             free now ── forecast ──→ low point ── flushes ──→ verdict
//
// The rules are in docs/headroom.md. Start at Judge.
package headroom
