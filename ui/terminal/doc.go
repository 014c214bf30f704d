// Package terminal puts the terminal into raw mode, asks it for its abilities, draws on it, and restores it, even after a
// panic or a signal.
//
//	open ─ raw ─ Enter: title saved, alternate screen, questions, first frame
//	  Bubble Tea reads Input ──→ model ──→ Paint ─→ what differs ─→ Output
//	Close: modes off, main screen, title back ─ termios restored
//	Abandon: the same for a terminal that takes no output: queued output is dropped
//
// Start reading at terminal.go. screen.go draws frames, output.go keeps a slow terminal from blocking the event loop,
// suspend.go is Ctrl+Z.
package terminal
