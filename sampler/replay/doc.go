// Package replay runs a recorded series through a real Sampler that reads one GPU with one process.
// So backtest scores the forecasts and alerts that the screen shows, not just the forecaster.
//
//	backtest.Series → Machine (a driver and /proc) → sampler.Sampler → Snapshot → Monitor
//
// Start reading at New (monitor.go).
package replay
