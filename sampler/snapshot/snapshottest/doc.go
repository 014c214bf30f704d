// Package snapshottest has ready Snapshots for tests: the boxes that golden files show.
//
//	DrawnBox ─┬─ DayOne      the same box without any probe
//	          └─ NoDriver    the same box after its driver went away
//	SixteenGPUs
//	History(box) ── the curves behind a box: sawtooth, leak, flat
//
// Start reading at DrawnBox.
package snapshottest
