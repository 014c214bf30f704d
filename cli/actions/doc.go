// Package actions defines the commands about one process: flush, resume, attach, snapshot, record, holds,
// summary and what-if. Those that change something in the process ask first, and are logged.
//
//	PID ─→ Set, Table ─→ refusal, question ─→ action/flush, action/attach ─→ text, JSON
//
// Start with flush.go, which also asks the questions.
package actions
