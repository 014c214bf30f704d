// Package nvml reads GPUs and their processes from the NVIDIA driver.
//
//	libnvidia-ml.so.1 ── go-nvml ── Library ─┬─ Open ─→ Driver, []Device (facts)
//	                                         └─ Read ─→ Reading (one GPU, one moment)
//	                                              └─ throughput (own goroutine, every 2 s)
//
// The types in device.go build everywhere. What calls the driver is tagged
// linux && cgo; other builds have unavailable.go. Every figure that a driver may
// refuse is optional, and one refused field costs no other.
//
// Start at Library in library.go, then reading.run in read.go.
package nvml
