// Package alert finds conditions in a sequence of snapshots that a user should know about.
//
//	Snapshot → rules → candidates → latches (hysteresis) → order → []snapshot.Alert
//	             ↑ traces: what rows and GPUs did before
//
// A rule looks at one snapshot and returns candidates. A latch counts how long a candidate has been
// present or absent, so that noise around a threshold does not make an alert flash.
//
// The clock is Snapshot.Time: the same snapshots give the same alerts. Start reading at Evaluate.
package alert
