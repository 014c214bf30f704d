// Package nvml reads GPUs and their processes from the NVIDIA driver.
//
//	libnvidia-ml.so.1 ── go-nvml ── Library ─┬─ Open ─→ Driver, []Device (facts)
//	                                         └─ Read ─→ Reading (one GPU, one moment)
//	                                              └─ throughput (own goroutine, at most every 2 s)
//
// The types in device.go build everywhere. The code that calls the driver is tagged linux && cgo;
// other builds have unavailable.go. If the driver refuses a figure, Read still reads the others.
//
// Start at Library in library.go, then reading.run in read.go.
package nvml
