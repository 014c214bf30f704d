package nvml

import (
	"fmt"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
)

// Figures above these limits are marks for "no value", or uninitialised memory.
const (
	highestTemperature = 200       // °C
	highestClock       = 100_000   // MHz
	highestPower       = 1_000_000 // W
	highestEnergy      = 1 << 40   // J: a century of 300 W
	highestReason      = 1<<16 - 1 // nvml.h defines nine bits
	highestGeneration  = 16
	highestWidth       = 64
	highestCount       = 1 << 24
	highestLinkRate    = 1 << 42 // bytes/s
)

// intFigure converts an unsigned figure. A figure above limit is unknown.
func intFigure(raw, limit uint32) quantity.Optional[int] {
	if raw > limit {
		return quantity.Unknown[int]()
	}
	return quantity.From(int(raw), quantity.Driver)
}

func watts(milliwatts uint32) quantity.Optional[float64] {
	if milliwatts > highestPower*1000 {
		return quantity.Unknown[float64]()
	}
	return quantity.From(float64(milliwatts)/1000, quantity.Driver)
}

// count converts a 64-bit counter, unknown if the driver has no value.
func count(raw uint64) quantity.Optional[uint64] {
	if raw == valueNotAvailable {
		return quantity.Unknown[uint64]()
	}
	return quantity.From(raw, quantity.Driver)
}

// cudaVersion writes the driver's 12040 as "12.4". It returns "" for an impossible number.
func cudaVersion(number int) string {
	if number < 1000 || number > 1_000_000 {
		return ""
	}
	return fmt.Sprintf("%d.%d", number/1000, number%1000/10)
}

// pciBusID returns the bus ID as nvidia-smi prints it: from the string that newer calls return,
// or else from the numbers that all calls return.
func pciBusID(s string, domain, bus, device uint32) string {
	if s = text.Strip(s); s != "" {
		return s
	}
	return fmt.Sprintf("%08X:%02X:%02X.0", domain, bus, device)
}

// unknownUUID returns the key of a GPU without a known UUID of its own.
func unknownUUID(index int) string { return fmt.Sprintf("unknown-%d", index) }

// profile returns the part of a MIG device's name after "MIG": "3g.40gb" of "NVIDIA H100 80GB HBM3 MIG
// 3g.40gb". If the name has no such part, profile composes it from slices and memory.
func profile(name string, slices int, memoryMiB uint64) string {
	if _, tail, ok := strings.Cut(name, " MIG "); ok {
		return strings.TrimSpace(tail)
	}
	if slices > 0 && memoryMiB > 0 && memoryMiB < 1<<30 {
		return fmt.Sprintf("%dg.%dgb", slices, (memoryMiB+512)/1024)
	}
	return ""
}
