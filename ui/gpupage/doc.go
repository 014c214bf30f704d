// Package gpupage draws everything known about one GPU or MIG instance: a page that
// fills the screen above the alert line (i), and scrolls where it does not fit.
//
//	who      name, bus, UUID, modes; it stays while the rest scrolls
//	graphs   memory with its forecast, utilisation, memory bandwidth
//	figures  clocks and why they are not higher, power, PCIe, engines, ECC, rows, NVLink
//	lists    links, instances, processes, who holds the device unlisted, Xids
//
// Start at Page in page.go.
package gpupage
