// Package replay finds out what a guard would have done over a recording, and what
// would have come of it.
//
//	snapshot as recorded ─→ less what would be free ─→ guard.Engine ─ act ─→ ledger
//	                               ↑                                           │
//	                               └───────────────────────────────────────────┘
//
// A ledger is of a process that would have been flushed: what it reserves is then
// the most that it has needed since, and not what was recorded. A program that waits
// for memory, or fails for want of it, goes on as it was recorded: that is the limit
// of such a replay.
//
// Start at Replay.Step.
package replay
