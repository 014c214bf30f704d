// Package backtest scores forecasts: it replays a trace through the forecaster that
// the monitor runs, sample by sample, and compares forecasts with what happened. It
// reads no clock but the one it is given.
//
//	CSV → Read → Series ─┬→ Replay → Score ┬→ Summarise → Summary
//	                     ├→ Cost ──────────┘
//	                     └→ Dump → forecasts.csv, full.csv, leaks.csv
//
// Start reading at Replay (backtest.go).
//
// # Scoring
//
// A forecast for t + h is compared with the first sample at or after t + h, unless
// that is later than by h/2 + 1 s. Then it is not scored, so that a trace sampled
// every 57 s is scored at the horizons that it supports. In ratios 1 MiB is added to
// errors, and an interval holds what lies within 1 MiB of it. The relative error is
// the mean error divided by that of the naive forecast; over several series, the
// geometric mean. The interval score is Winkler's (1972): the width, plus 2/α times
// the distance by which the truth lies outside.
//
// A series is full from the first sample whose used memory is within 1 MiB of its
// total. An alarm is raised when three samples in a row are forecast to be full
// within 300 s, and lowered when five in a row are not. It is right if the series is
// full within 600 s, wrong if it is not, and undecided if the trace ends before.
package backtest
