// Package sampler reads the driver, the probes and /proc on a clock, merges them
// by process, keeps the history, and publishes Snapshots.
//
//	nvml.Device, nvml.Process ─┐
//	probe.Report ──────────────┼→ Tick → merge → forecasts, alerts → Snapshot → one slot, newest wins
//	process.Info ──────────────┘                                  └→ History, event log
//
// Start reading at Sampler.Tick. driver.go and gpu.go keep the driver read;
// merge.go and probes.go make rows; parts.go makes GPUs; predict.go forecasts;
// alerts.go and events.go fill the log; the keep files outlive a restart.
package sampler
