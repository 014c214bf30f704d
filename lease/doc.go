// Package lease keeps promises of GPU memory. It does no I/O: callers pass readings and the time.
//
//	Claim ──→ queue ──┐
//	                  ├─ Advance: room, order ──→ held ──→ ended: Release, End, its TTL
//	Observe(Reading) ─┘
//
//	room = the driver's free memory − Σ over leases max(promised − used, 0) − Reserve
//
// Claims are served in the order in which they come, important ones earlier (turn). A claim that does
// not fit keeps the GPUs that are nearest to it, and after gatherTime all that it could use. A later
// claim may take another GPU, or a kept GPU if it says that it ends before the waiting claim can begin.
// A claim gets all its GPUs at once, or none.
//
// A lease is not a limit. docs/sharing.md has the rules. Start reading at Ledger.
package lease
