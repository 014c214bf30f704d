// Package bounded limits the bytes that are read from other people's programs, peers and files, and
// the time of waiting. In other packages, the linter refuses io.ReadAll and its like.
//
//	a program ── Command.Output ─→ its first bytes
//	a peer ───── Lines ──────────→ lines, none longer than the limit
//	a file ───── First ──────────→ its first bytes
//	a writer ─── Buffer ─────────→ the first bytes; the rest is dropped
//	goroutines ─ Wait ───────────→ whether they ended in time
//
// Start with Buffer. A peer's time is limited by the code that has its connection.
package bounded
