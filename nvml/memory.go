package nvml

import (
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"vramscope/internal/quantity"
)

// valueNotAvailable is NVML_VALUE_NOT_AVAILABLE as an unsigned 64-bit number.
const valueNotAvailable = ^uint64(0)

// largestMemory is more than any GPU has; a figure above it is nonsense.
const largestMemory = uint64(quantity.PiB)

// memoryAnswer holds the unchecked results of a memory call.
type memoryAnswer struct {
	total, reserved, free, used uint64
}

// figure converts the driver's byte count, unknown for the not-available mark and above limit.
func figure(raw, limit uint64, source quantity.Source) quantity.Optional[quantity.Bytes] {
	if raw == valueNotAvailable || raw > limit || raw > largestMemory {
		return quantity.Unknown[quantity.Bytes]()
	}
	return quantity.From(quantity.Bytes(raw), source)
}

// memoryOf converts the answer of a memory call. Version 2 (quantity.Driver) counts the driver's own
// memory separately; version 1 (quantity.DriverV1) counts it as used.
func memoryOf(a memoryAnswer, source quantity.Source) Memory {
	var m Memory
	if a.total > 0 {
		m.Total = figure(a.total, largestMemory, source)
	}
	m.Used, m.Free = figure(a.used, limitOf(m), source), figure(a.free, limitOf(m), source)
	if source == quantity.Driver {
		m.Reserved = figure(a.reserved, limitOf(m), source)
	}
	return m
}

// limitOf returns the largest possible value of a part of a memory.
func limitOf(m Memory) uint64 {
	if total, ok := m.Total.Value(); ok {
		return uint64(total)
	}
	return largestMemory
}

// integratedNames are parts of the names of GPUs that share the host's memory, for drivers that lack
// the BAR1 call.
var integratedNames = []string{"GB10", "Orin", "Thor", "Xavier", "Tegra", "nvgpu"}

func namedIntegrated(name string) bool {
	return slices.ContainsFunc(integratedNames, func(part string) bool { return strings.Contains(name, part) })
}

// hostMemory returns the memory of a GPU that shares the host's memory. It is unknown if meminfo
// cannot be read. Free is MemAvailable, because the kernel frees page cache for a GPU allocation as
// it does for any other.
func hostMemory(proc string) Memory {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return Memory{}
	}
	info, err := fs.Meminfo()
	if err != nil || info.MemTotalBytes == nil || info.MemAvailableBytes == nil {
		return Memory{}
	}
	total, available := *info.MemTotalBytes, *info.MemAvailableBytes
	if total > largestMemory || available > total {
		return Memory{}
	}
	return Memory{
		Total: figure(total, total, quantity.System),
		Used:  figure(total-available, total, quantity.System),
		Free:  figure(available, total, quantity.System),
	}
}
