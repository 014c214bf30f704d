// Package guard decides when cached memory is freed, and whose, by a policy. It is pure: snapshots
// in, decisions out; its clock is Snapshot.Time, and it does no IO. It never ends a process.
//
//	Policy ─┐
//	Snapshot ─→ Decide ─┬─ act ──→ runner ─→ action/flush ─→ Finished ─┐
//	                    ├─ would (dry-run), nothing, came back, tripped │
//	                    └────────────→ event, recording, audit log ←────┘
//
//	trace     what rows did: peaks of ten minutes, growth, emptied caches, flushes
//	standing  who may be flushed, and in which order
//	episode   a rule's condition on a GPU, from when it holds until its goal is reached
//	limits    how often, and for how long not again
//
// docs/guard.md has the rules. Start at Policy and Engine.Decide.
package guard
