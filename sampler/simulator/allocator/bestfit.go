package allocator

import (
	"cmp"
	"fmt"
	"slices"

	"vramscope/internal/quantity"
)

// The sizes that XLA's and TensorFlow's allocator works with.
// Source: https://github.com/openxla/xla/blob/main/xla/tsl/framework/bfc_allocator.h
const (
	minChunk = 256                // every size is a multiple of it
	maxWaste = 128 * quantity.MiB // a rest of this size is always split off
)

// BestFit is the best fit with coalescing (BFC) of JAX and TensorFlow over one
// region that is reserved at the start and never freed.
//
// A request is rounded to 256 bytes and served with the smallest free block
// that is large enough; the block is split when it is at least twice as large
// or the rest would be 128 MiB or more.
//
// The largest free block is cached: any one request up to that size succeeds.
// The other free blocks are fragmented. Nothing of it is returnable.
type BestFit struct {
	head     *Block
	free     freeSet
	reserved quantity.Bytes
	stats    Stats
}

// NewBestFit reserves the region, or fails with ErrOutOfMemory.
func NewBestFit(device Device, region quantity.Bytes) (*BestFit, error) {
	region = roundUp(region, minChunk)
	if !device.Reserve(region) {
		return nil, fmt.Errorf("reserve a region of %s: %w", region, ErrOutOfMemory)
	}
	f := &BestFit{reserved: region}
	f.head = &Block{address: firstAddress, size: region, home: &f.free}
	f.free.add(f.head)
	return f, nil
}

// Allocate hands out a block of at least size, or ErrOutOfMemory.
func (f *BestFit) Allocate(size quantity.Bytes) (*Block, error) {
	size = max(roundUp(size, minChunk), minChunk)
	b := f.free.fit(size)
	if b == nil {
		f.stats.OutOfMemory++
		return nil, fmt.Errorf("allocate %s: %w", size, ErrOutOfMemory)
	}
	f.free.remove(b)
	if b.size >= 2*size || b.size-size >= maxWaste {
		f.free.add(b.split(size))
	}
	b.state = live
	f.stats.Allocated += b.size
	f.stats.noteTaken()
	return b, nil
}

// Free takes a live block back. Freeing anything else is an error of the
// caller and panics.
func (f *BestFit) Free(b *Block) {
	if b.state != live {
		panic("allocator: free of a block that is not live")
	}
	f.stats.Allocated -= b.size
	f.stats.Blocks--
	b.state = free
	f.free.add(b.merge(f.free.remove))
}

// Flush frees nothing: the region stays until the process ends.
func (f *BestFit) Flush() quantity.Bytes { return 0 }

// Stats returns the stats.
func (f *BestFit) Stats() Stats {
	s := f.stats
	s.Reserved = f.reserved
	s.LargestFree = f.free.largest()
	s.Cached = s.LargestFree
	s.Fragmented = s.Reserved - s.Allocated - s.Cached
	s.Segments, s.PeakReserved = 1, f.reserved
	return s
}

// Segments describes the one region.
func (f *BestFit) Segments() []Segment { return describe([]*Block{f.head}) }

// describe writes down the segments that start with the given blocks.
func describe(heads []*Block) []Segment {
	slices.SortFunc(heads, func(a, b *Block) int { return cmp.Compare(a.address, b.address) })
	segments := make([]Segment, len(heads))
	for i, b := range heads {
		segments[i] = b.describe()
	}
	return segments
}
