package snapshot

import "vramscope/internal/quantity"

// Tolerance is how far two measurements of the same memory may differ where
// they agree: a probe's and the driver's, of an amount or of a change. The driver
// counts in pages of 2 MiB and reads a moment later, and a small allocation or
// two may lie between the readings.
func Tolerance(amount quantity.Bytes) quantity.Bytes {
	return max(amount/50, 32*quantity.MiB)
}
