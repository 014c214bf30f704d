// Package actions defines the commands that act on one process: flush and attach, which ask first;
// snapshot, which makes a process write where its memory lies and which lines allocate it; holds
// and summary, which ask what holds that memory. Package action decides what is done, refused and
// logged.
//
//	PID ─→ Set, Table ─→ refusal, question ─→ action/flush, action/attach ─→ text, JSON
//
// Start with flush.go, which also asks the questions; the files of draft.go appear only when they
// are complete.
package actions
