// Command table measures the forecaster, the monitor and the baselines on every
// regime. It prints the gates: what is asked, what was measured, and whether it is
// held.
//
//	regime.All × seeds → backtest.Replay of each method and of the monitor → rows → gates, tables
//	regime scenes      → backtest.Replay of the monitor ───────────────────────────────┘
//
//	-ablation     what each part of the forecaster gains
//	-cost         what a sample and a series cost
//	-scenes       ramps and loads in the monitor
//	-details      every figure at every horizon
//	-recording F  a real recording too
//	-write F      write the tables between the marks of a document instead
//	-traces D     write the series as traces, as vramscope backtest reads them
//
// Start reading at options.run (main.go).
package main
