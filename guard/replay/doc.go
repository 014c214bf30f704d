// Package replay finds out what a guard would have done over a recording, and what
// would have come of it.
//
//	snapshot as recorded ─→ less what would be free ─→ guard.Engine ─ act ─→ ledger
//	                               ↑                                           │
//	                               └───────────────────────────────────────────┘
//
// A process that would have been flushed gets a ledger: its reserved memory is then
// the most that it has needed since, not what was recorded. A program that waits for
// memory, or fails for want of it, still goes on as recorded: a replay cannot show
// what it would have done otherwise.
//
// Start at Replay.Step.
package replay
