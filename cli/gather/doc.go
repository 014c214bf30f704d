// Package gather reads out of recordings and the audit log what commands evaluate.
//
//	recording ─┬→ Report ──→ recording/report     report
//	audit log ─┤→ LoggedDecisions ───────────────  guard log
//	           └→ Trace ────→ forecast/backtest    backtest
//
// The evaluations are pure functions of what this package reads. Start at report.go.
package gather
