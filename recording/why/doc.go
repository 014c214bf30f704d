// Package why explains an out-of-memory event: how much the process asked for, how much was free,
// which processes used the rest, and which of a closed list of causes the figures prove.
//
//	event + snapshot.History ── Gather ──→ Evidence ── Judge ──→ Verdict ── Page ──→ lines
//
// The history is a recording or the monitor's own. If the evidence does not suffice, the cause is
// CannotTell, with the missing figures. docs/why.md has the rules; start reading at verdict.go.
package why
