// Package backtest scores forecasts: it replays a trace through the forecaster that the monitor
// runs, sample by sample, and compares forecasts with the samples that follow. It reads only the
// clock that it is given.
//
//	CSV → Read → Series ─┬→ Replay → Score ┬→ Summarise → Summary
//	                     ├→ Cost ──────────┘
//	                     └→ Dump → forecasts.csv, full.csv, leaks.csv
//
// Start reading at Replay (backtest.go).
//
// docs/forecast.md has the rules of scoring. In ratios 1 MiB is added to errors. The interval
// score is Winkler's (1972).
package backtest
