// Package nvml reads GPUs and their processes from the NVIDIA driver.
//
//	libnvidia-ml.so.1 ── go-nvml ── Library ─┬─ Open ─→ Driver, []Device (facts)
//	                                         └─ Read ─→ Reading (one GPU, one moment)
//	                                              └─ throughput (own goroutine, every 2 s)
//
// The types in device.go build everywhere. The code that calls the driver is tagged linux && cgo;
// other builds have unavailable.go. Every figure that a driver may refuse is optional. If the
// driver refuses one, the others are still read.
//
// Start at Library in library.go, then reading.run in read.go.
package nvml
