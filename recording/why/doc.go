// Package why explains an out-of-memory event: what the process asked for, what was
// free, who held the rest, and which of a closed list of causes the figures prove.
//
//	event + snapshot.History ── Gather ──→ Evidence ── Judge ──→ Verdict ── Page ──→ lines
//
// It is pure: the history is a recording's or the monitor's own. Where the evidence
// does not carry a verdict the answer is CannotTell, with what is missing.
// docs/why.md has the rules; start reading at verdict.go.
package why
