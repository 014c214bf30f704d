// Package action acts on processes and keeps the audit log. Each action has a package of its own
// with one request and one result, used by the screen, by the commands and by policies alike:
//
//	Request ─→ checks ─┬─ refused ──────────────────────────→ *process.Refusal
//	                   └─ line before ─ action ─ line after ─→ Result, event
//
//	flush   asks a process's probe to free cached memory
//	attach  puts a probe into a running Python process
//	signal  sends a signal
//
// Start with Log.Do: nothing is done to a process outside of it.
package action
