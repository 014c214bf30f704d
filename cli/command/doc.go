// Package command holds what every command needs: one run of the command line with its streams,
// environment and clock (Program), the settings and global flags, kinds of flags, failures with
// their exit codes, what is printed, and where this user's state is.
//
//	arguments ─→ cobra ─→ Program.Settings (defaults ← file ← flags) ─→ a command
//	                                                                      │
//	exit code ←─ Report ←─ Failure, Silent ←──────────────────────────────┘
//
// Start with program.go and failure.go.
package command
