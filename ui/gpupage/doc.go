// Package gpupage draws what is known about one GPU or MIG instance: a page (i) that scrolls.
//
//	head     name and used memory; it stays while the rest scrolls
//	graphs   memory with its forecast, utilization, memory bandwidth
//	figures  clocks and why they are not higher, power, PCIe, engines, ECC, rows, NVLink
//	lists    Xids, instances, processes, unlisted holders of the device, NVLinks
//
// Start at Page in page.go.
package gpupage
