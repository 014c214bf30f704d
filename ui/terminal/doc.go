// Package terminal puts the terminal into raw mode, asks it for its abilities, draws on it, and restores it, however the
// program ends.
//
//	open ─ raw ─ Enter: title saved, alternate screen, questions, first frame
//	  Bubble Tea reads Input ──→ model ──→ Paint ─→ what differs ─→ Output
//	Close: modes off, main screen, title back ─ termios restored
//	Abandon: the same, without waiting for a terminal that takes nothing
//
// Start reading at terminal.go. screen.go draws frames, output.go keeps the event loop from waiting for a slow terminal,
// suspend.go is Ctrl+Z.
package terminal
