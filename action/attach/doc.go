// Package attach puts a probe into a running process. probe/attach does the work; this package adds
// the audit log and the event.
//
//	Examine ─→ Plan: every reason for and against
//	Run     ─→ examines again ─→ log ─ Enter ─ log ─→ Result, event
//
// Start with Attacher.Run.
package attach
