// Package replay runs a recorded series through the monitor: a Sampler that reads one GPU with one
// process. Its pace, its rules and their hysteresis are the real ones. So backtest scores what the
// monitor shows, and not just the forecaster.
//
//	backtest.Series → Machine (a driver and /proc) → sampler.Sampler → Snapshot → Monitor
//
// Start reading at New (monitor.go).
package replay
