// Package gather reads the data that commands evaluate from recordings and the audit log.
//
//	recording ─┬→ Report ──→ recording/report     report
//	audit log ─┤→ LoggedDecisions ───────────────  guard log
//	           └→ Trace ────→ forecast/backtest    backtest
//
// Start with report.go.
package gather
