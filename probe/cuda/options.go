package cuda

import (
	"fmt"
	"time"

	"vramscope/internal/quantity"
)

// Options say what a probe process does.
type Options struct {
	Library string                         // path of libcuda.so.1; "" where the loader finds it
	Choose  func([]Device) (Device, error) // which of the devices that CUDA shows
	Pattern Pattern
	Size    quantity.Bytes // the most that it takes, what its pool reserves counted in; its context is not
	Seed    uint64
	Length  time.Duration    // until leak and staircase have reached the size
	Clock   func() time.Time // nil: time.Now
}

// SizeError says that a device has no room for the size asked for.
type SizeError struct {
	Device Device
	Size   quantity.Bytes // asked for
	Free   quantity.Bytes // there now, the probe process's own context made
	Fits   quantity.Bytes // the most that could be asked for now; 0 where no pattern fits
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%s does not fit on %s: %s is free, and %s of that is left alone",
		e.Size, e.Device.Name, e.Free, min(leave, e.Free))
}

// Figures are how a probe process is doing.
type Figures struct {
	Time      time.Time      // when they were read
	Reserved  quantity.Bytes // held of the GPU, the context apart
	Allocated quantity.Bytes // of that, in live blocks
	Peak      quantity.Bytes // the most ever reserved

	Allocations int64 // made so far
	Frees       int64
	OutOfMemory int64          // allocations that the driver refused
	Flushes     int64          // done for somebody
	Flushed     quantity.Bytes // given back by them
	// Short says that the pattern wants more than can be had without taking
	// what is to be left alone.
	Short bool
}
