// Package lease keeps promises of GPU memory: who has how much on which GPU, who waits, and who is
// next. It does no I/O: readings and the time are passed in.
//
//	Claim ──→ queue ──┐
//	                  ├─ Advance: room, order ──→ held ──→ ended: Release, End, its TTL
//	Observe(Reading) ─┘
//
//	room = the driver's free memory − Σ over leases max(promised − used, 0) − Reserve
//
// First come, first served, except that important claims come earlier (turn). A claim that does not
// fit keeps the GPUs that are nearest to it, and after gatherTime all that it could use. Later
// claims may take other GPUs, or a kept GPU if they say that they end before the claim can begin. A
// claim gets all its GPUs at once, or none.
//
// A lease is a promise among those who ask, not a limit. docs/sharing.md has the rules.
//
// Start reading at Ledger.
package lease
