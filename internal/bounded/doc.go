// Package bounded takes bytes from programs, peers and files of others: only so many, and
// for only so long. The linter refuses the functions without a limit elsewhere.
//
//	a program ── Command.Output ─→ its first bytes
//	a peer ───── Lines ──────────→ lines, none longer than the limit
//	a file ───── First ──────────→ its first bytes
//	a writer ─── Buffer ─────────→ the first bytes; the rest is dropped
//	goroutines ─ Wait ───────────→ whether they ended in time
//
// Start with Buffer. A peer's time is limited where its connection is known.
package bounded
