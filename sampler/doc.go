// Package sampler reads the driver, the probes and /proc on a clock, merges their figures into one
// row per process and GPU, keeps the history, and publishes Snapshots.
//
//	nvml.Device, nvml.Process ─┐
//	probe.Report ──────────────┼→ Tick → merge → forecasts, alerts → Snapshot → one slot, newest wins
//	process.Info ──────────────┘                                  └→ History, event log
//
// Start reading at Sampler.Tick. driver.go and gpu.go read the driver. merge.go and probes.go make
// rows, gpus.go makes GPUs. predict.go and outlook.go forecast. events.go applies the alert rules
// and fills the log.
package sampler
