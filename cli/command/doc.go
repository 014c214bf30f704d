// Package command is shared by all commands: one run of the command line with its streams,
// environment and clock (Program), settings, flags, failures with exit codes, output, directories.
//
//	arguments ─→ cobra ─→ Program.Settings (defaults ← file ← flags) ─→ a command
//	                                                                      │
//	exit code ←─ Report ←─ Failure, Silent ←──────────────────────────────┘
//
// Start with program.go and failure.go.
package command
