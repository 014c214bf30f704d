// Package actions defines the commands that act on one process. flush, resume, attach and record ask
// first. record makes a process note which lines allocate its memory, snapshot makes it write where that
// lies; holds asks what holds it, summary prints PyTorch's own summary, what-if replays the allocations.
// Package action decides what is done, refused and logged.
//
//	PID ─→ Set, Table ─→ refusal, question ─→ action/flush, action/attach ─→ text, JSON
//
// Start with flush.go, which also asks the questions; the files of draft.go appear only when they
// are complete.
package actions
