// Package replay computes what a guard would have done over a recording, and with what effect.
//
//	snapshot as recorded ─→ less what would be free ─→ guard.Engine ─ act ─→ ledger
//	                               ↑                                           │
//	                               └───────────────────────────────────────────┘
//
// A process that would have been flushed gets a ledger: from then on its reserved memory is the
// most that it has needed since, not the recorded figure. A program that waits for memory, or fails
// for lack of it, still behaves as recorded: a replay cannot show what it would have done.
//
// Start at Replay.Step.
package replay
