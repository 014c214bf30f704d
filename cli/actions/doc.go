// Package actions defines the commands about one process: flush, resume, attach and record, which ask
// first, and snapshot, holds, summary and what-if. Package action decides what is done, refused and logged.
//
//	PID ─→ Set, Table ─→ refusal, question ─→ action/flush, action/attach ─→ text, JSON
//
// Start with flush.go, which also asks the questions.
package actions
