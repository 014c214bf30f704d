// Package guard decides, by a policy, when cached memory is freed, and whose. It does no I/O:
// snapshots go in, decisions come out, and its clock is Snapshot.Time. It never ends a process.
//
//	Policy ─┐
//	Snapshot ─→ Decide ─┬─ act ──→ runner ─→ action/flush ─→ Finished ─┐
//	                    ├─ would (dry-run), nothing, came back, tripped │
//	                    └────────────→ event, recording, audit log ←────┘
//
//	trace     what rows did: growth, emptied caches, flushes
//	standing  who may be flushed, and in which order
//	episode   a rule's condition on a GPU, from when it holds until its goal is reached
//	limits    how often, and for how long not again
//
// docs/guard.md has the rules. Start at Policy and Engine.Decide.
package guard
