// Package bounded reads from other people's programs, peers and files with a limit on bytes and
// time. In other packages, the linter refuses functions that have no limit.
//
//	a program ── Command.Output ─→ its first bytes
//	a peer ───── Lines ──────────→ lines, none longer than the limit
//	a file ───── First ──────────→ its first bytes
//	a writer ─── Buffer ─────────→ the first bytes; the rest is dropped
//	goroutines ─ Wait ───────────→ whether they ended in time
//
// Start with Buffer. A peer's time is limited by the code that has its connection.
package bounded
