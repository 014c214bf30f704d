package simulator

import "vramscope/internal/quantity"

// frame is the frame buffer of a GPU or of one MIG instance. It is the device
// that the simulated allocators get their segments from.
type frame struct {
	total    quantity.Bytes
	reserved quantity.Bytes // by the driver; nobody can have it
	used     quantity.Bytes // by processes and, a little, by nobody in particular
	whole    *frame         // the GPU that a MIG instance is cut from, nil for a GPU
}

func (f *frame) capacity() quantity.Bytes { return f.total - f.reserved }

// Reserve takes size out of what is free, or reports that there is not enough.
func (f *frame) Reserve(size quantity.Bytes) bool {
	if f.used+size > f.capacity() {
		return false
	}
	f.used += size
	if f.whole != nil {
		f.whole.used += size
	}
	return true
}

// Release gives size back.
func (f *frame) Release(size quantity.Bytes) {
	f.used -= size
	if f.whole != nil {
		f.whole.used -= size
	}
}
