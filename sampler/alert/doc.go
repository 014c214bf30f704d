// Package alert finds conditions in a sequence of snapshots that a user should know about.
//
//	Snapshot → rules → candidates → latches (hysteresis) → order → []snapshot.Alert
//	             ↑ traces: what rows and GPUs did before
//
// A rule looks at one snapshot and returns candidates. A latch counts how long each candidate has
// been present or absent, so that noise around a threshold does not make an alert flash. Alerts
// without a threshold, and those about a process that has ended, do not wait.
//
// Time is Snapshot.Time: the same snapshots give the same alerts in the same order. Start reading
// at Evaluate.
package alert
