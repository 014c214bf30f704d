// Package signal sends signals to processes.
//
//	Request ─→ log ─ Send (a pidfd, the identity, the owner) ─ log ─→ Result, event
//
// Send is internal/process's Table.Signal, which refuses another process with
// the same PID, or a simulated box's. Start with Sender.Run.
package signal
