package simulator

import "vramscope/internal/quantity"

// frame is the frame buffer of a GPU or of a MIG instance. The simulated
// allocators get their segments from it.
type frame struct {
	total    quantity.Bytes
	reserved quantity.Bytes // by the driver
	used     quantity.Bytes // by processes, and a little without one
	whole    *frame         // the GPU of a MIG instance, nil for a GPU
}

func (f *frame) capacity() quantity.Bytes { return f.total - f.reserved }

// Reserve takes size of the free memory. It is false where there is not enough.
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

// Release frees size.
func (f *frame) Release(size quantity.Bytes) {
	f.used -= size
	if f.whole != nil {
		f.whole.used -= size
	}
}
