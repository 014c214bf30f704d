// Package snapshot is the model of one moment. The sampler publishes a Snapshot, and every front end
// (screen, table, JSON) reads it. A published Snapshot is immutable.
//
//	sampler ── Snapshot ──→ ui, cli        (now)
//	        ── History  ──→ ui, cli        (then: At, Series, Events)
//
// Start reading at Snapshot, GPU and Process; lookup.go finds GPUs and rows.
package snapshot
