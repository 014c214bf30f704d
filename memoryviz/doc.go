// Package memoryviz reads PyTorch's memory snapshots, the pickles that https://pytorch.org/memory_viz shows,
// and says which lines of the program allocated what.
//
//	file ─ decode ─→ values ─ Read ─→ Snapshot ─┬─ Lines ──→ a line's live blocks, and what it allocated
//	 (no code of a pickle runs)                 ├─ Growth ─→ what another snapshot has more of, by line or size
//	                                            └─ Profile ─→ pprof
//
// A file may be hostile: reading it takes at most a few times its size in memory, whatever it
// contains. Start with Read.
package memoryviz
