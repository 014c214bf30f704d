// Command table measures the forecaster, the monitor and the baselines on every
// regime. It prints the gates (what is asked, what was measured, and whether it is
// held) and the figures of each regime; with -write FILE it puts the gates between the
// marks of that document instead.
//
//	regime.All × seeds → backtest.Replay of each method and of the monitor → rows → gates, table
//	regime scenes      → backtest.Replay of the monitor ───────────────────────────────┘
//
// Start reading at options.run (main.go).
package main
