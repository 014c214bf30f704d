// Package advice finds which setting or change would save a process, or its neighbours, GPU memory:
// how much, at what price, and by which documentation. There is one set of rules, for `vramscope
// advise`, the detail of a process and the explanation of an out-of-memory event (recording/why).
// It does no I/O, and its clock is Snapshot.Time.
//
//	Snapshot ────┐
//	History ─────┼─ Of ──→ facts ──→ rules ──→ best, at most three
//	environment ─┘                     ↑
//	                                measures: setting, price, source
//
// A rule is a condition on measured figures. An unknown figure meets no condition, and a setting that
// is already made is not advised. docs/advice.md has the conditions. Tests compare the frameworks'
// settings with testdata/spelled.txt. Start at Of.
package advice
