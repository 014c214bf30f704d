// Package actions defines the commands that act on one process. flush, resume and attach ask first;
// snapshot makes a process write where its memory lies and which lines allocate it; holds asks what
// holds that memory; summary prints PyTorch's own summary of it; what-if replays its allocations.
// Package action decides what is done, refused and logged.
//
//	PID ─→ Set, Table ─→ refusal, question ─→ action/flush, action/attach ─→ text, JSON
//
// Start with flush.go, which also asks the questions; the files of draft.go appear only when they
// are complete.
package actions
