// Package memoryviz reads PyTorch's memory snapshots, the pickles that https://pytorch.org/memory_viz shows,
// and sums their allocations by lines of the program.
//
//	file ─ decode ─→ values ─ Read ─→ Snapshot ─┬─ Lines ──→ live memory and churn, by line
//	 (no code of a pickle runs)                 ├─ Growth ─→ growth between two snapshots, by line or size
//	                                            └─ Profile ─→ pprof
//
// A file may be hostile: reading one takes at most a few times its size in memory. Start with Read.
package memoryviz
