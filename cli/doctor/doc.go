// Package doctor examines what vramscope depends on: what works, what does not, why, and what to do.
//
//	Box (sources, settings, snapshot) ─→ findings, by section ─→ Report
//
// Start with Report. The sections are in driver.go (the driver and its GPUs), system.go
// (processes, daemon, terminal), probes.go and doctor.go (the configuration).
package doctor
