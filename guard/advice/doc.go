// Package advice finds which setting or change would save a process, or its neighbours, GPU memory:
// how much, at what price, and by which documentation. There is one set of rules, for `vramscope
// advise`, the detail of a process and the explanation of an out-of-memory event (recording/why).
// It is pure: its clock is Snapshot.Time.
//
//	Snapshot ────┐
//	History ─────┼─ Of ──→ facts ──→ rules ──→ best, at most three
//	environment ─┘                     ↑
//	                                measures: setting, price, source
//
// A rule is a condition on measured figures. An unknown figure meets no condition, and a setting
// that is set already is not advised. docs/advice.md has the conditions; a framework's spelling of
// each setting is tested, also by scripts/real-libraries against its parser. Start at Of.
package advice
