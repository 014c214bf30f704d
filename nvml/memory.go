package nvml

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"vramscope/internal/quantity"
)

// valueNotAvailable is NVML_VALUE_NOT_AVAILABLE as an unsigned 64-bit figure.
const valueNotAvailable = ^uint64(0)

// largestMemory is more than any GPU has; a figure above it is nonsense.
const largestMemory = uint64(quantity.PiB)

// memoryAnswer is what a memory call wrote, unchecked.
type memoryAnswer struct {
	total, reserved, free, used uint64
}

// figure accepts a byte count of the driver, unless it is the not-available mark
// or more than limit.
func figure(raw, limit uint64, source quantity.Source) quantity.Optional[quantity.Bytes] {
	if raw == valueNotAvailable || raw > limit || raw > largestMemory {
		return quantity.Unknown[quantity.Bytes]()
	}
	return quantity.From(quantity.Bytes(raw), source)
}

// memoryV2 converts an answer of nvmlDeviceGetMemoryInfo_v2, which counts the
// driver's own memory separately.
func memoryV2(a memoryAnswer) Memory {
	m := memoryV1(a)
	m.Used = figure(a.used, limitOf(m), quantity.Driver)
	m.Free = figure(a.free, limitOf(m), quantity.Driver)
	m.Reserved = figure(a.reserved, limitOf(m), quantity.Driver)
	if total, ok := m.Total.Value(); ok {
		m.Total = quantity.From(total, quantity.Driver)
	}
	return m
}

// memoryV1 converts an answer of nvmlDeviceGetMemoryInfo, in which used includes
// the driver's own memory.
func memoryV1(a memoryAnswer) Memory {
	var m Memory
	if a.total > 0 {
		m.Total = figure(a.total, largestMemory, quantity.DriverV1)
	}
	m.Used = figure(a.used, limitOf(m), quantity.DriverV1)
	m.Free = figure(a.free, limitOf(m), quantity.DriverV1)
	return m
}

// limitOf is the limit of each part of a memory.
func limitOf(m Memory) uint64 {
	if total, ok := m.Total.Value(); ok {
		return uint64(total)
	}
	return largestMemory
}

// integratedNames are parts of the names of GPUs without memory of their own,
// for drivers that lack the BAR1 call.
var integratedNames = []string{"GB10", "Orin", "Thor", "Xavier", "Tegra", "nvgpu"}

// namedIntegrated reports whether a name is that of a chip that shares the host's
// memory.
func namedIntegrated(name string) bool {
	for _, part := range integratedNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// hostMemory is the memory of a GPU that shares the host's: /proc/meminfo's
// MemTotal, and MemAvailable as what is free, because the kernel frees page cache
// for a GPU allocation as for any other.
func hostMemory(meminfo io.Reader) (Memory, error) {
	total, available, err := parseMeminfo(meminfo)
	if err != nil {
		return Memory{}, fmt.Errorf("nvml: host memory: %w", err)
	}
	return Memory{
		Total: quantity.From(total, quantity.System),
		Used:  quantity.From(total-available, quantity.System),
		Free:  quantity.From(available, quantity.System),
	}, nil
}

// parseMeminfo reads MemTotal and MemAvailable.
// Source: proc_meminfo(5).
func parseMeminfo(r io.Reader) (total, available quantity.Bytes, err error) {
	var haveTotal, haveAvailable bool
	lines := bufio.NewScanner(r)
	for lines.Scan() && (!haveTotal || !haveAvailable) {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		if name != "MemTotal" && name != "MemAvailable" {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) != 2 || fields[1] != "kB" {
			return 0, 0, fmt.Errorf("meminfo: line %q is not a number of kB", lines.Text())
		}
		kib, err := strconv.ParseUint(fields[0], 10, 42)
		if err != nil {
			return 0, 0, fmt.Errorf("meminfo: %s: %w", name, err)
		}
		if name == "MemTotal" {
			total, haveTotal = quantity.Bytes(kib)*quantity.KiB, true
		} else {
			available, haveAvailable = quantity.Bytes(kib)*quantity.KiB, true
		}
	}
	if err := lines.Err(); err != nil {
		return 0, 0, fmt.Errorf("meminfo: %w", err)
	}
	if !haveTotal || !haveAvailable || available > total {
		return 0, 0, fmt.Errorf("meminfo: no usable MemTotal and MemAvailable")
	}
	return total, available, nil
}
