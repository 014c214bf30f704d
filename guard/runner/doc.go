// Package runner runs a guard over a sampler's snapshots and carries out its decisions, only
// through action/flush.
//
//	sampler ─ Observe (each snapshot) ─→ guard.Engine ─┬─ act ─→ Run ─→ action/flush ─→ Finished
//	                                                   └─ all else ─→ event, audit log
//
// Start at Runner.
package runner
