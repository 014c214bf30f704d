package allocator

import (
	"cmp"
	"fmt"
	"slices"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/probe"
)

// The sizes that PyTorch's allocator works with.
// Source: https://github.com/pytorch/pytorch/blob/v2.6.0/c10/cuda/CUDACachingAllocator.cpp
const (
	minBlock     = 512                // block sizes are multiples of minBlock
	smallSize    = quantity.MiB       // the largest block of the small pool
	smallSegment = 2 * quantity.MiB   // size of the small pool's segments
	largeSegment = 20 * quantity.MiB  // size of a segment for a large request under minLarge
	minLarge     = 10 * quantity.MiB  // a request of this size or more gets a segment of its size, rounded up
	roundLarge   = 2 * quantity.MiB   // the size of such a segment is rounded up to a multiple of this
	firstAddress = 0x7f00_0000_0000   // a device address as from CUDA
	addressGap   = uint64(roundLarge) // between segments
)

// Caching is PyTorch's caching allocator: one stream, no size limit on splitting, no expandable segments.
//
// A request is rounded up to minBlock and served with the smallest free block of its pool that is
// large enough. The rest is split off if it is at least 512 bytes in the small pool, or more than
// 1 MiB in the large pool. If no block fits, a segment is reserved. If the device refuses, the
// allocator frees all whole free segments and tries again.
//
// Whole free segments are cached. Free memory in a segment with live blocks is fragmented
// ("inactive split" in PyTorch).
type Caching struct {
	// Observe, unless nil, is called for each allocation that failed even after a flush. If Observe
	// returns true, the failure is not counted, because the program will allocate again.
	Observe func(size quantity.Bytes) (again bool)

	device       Device
	small, large freeSet
	waiting      []*Block // pending blocks
	segments     map[*Block]struct{}
	nextAddress  uint64
	stats        Stats
}

// NewCaching returns an empty allocator.
func NewCaching(device Device) *Caching {
	return &Caching{device: device, segments: map[*Block]struct{}{}, nextAddress: firstAddress}
}

// Allocate returns a block of at least size, or ErrOutOfMemory.
func (c *Caching) Allocate(size quantity.Bytes) (*Block, error) {
	size = max(roundUp(size, minBlock), minBlock)
	pool, room := &c.large, smallSize
	if size <= smallSize {
		pool, room = &c.small, minBlock-1
	}
	b := pool.fit(size)
	if b != nil {
		c.take(b)
	} else {
		var err error
		if b, err = c.reserve(size, pool); err != nil {
			return nil, err
		}
	}
	if b.size-size > room {
		c.put(b.split(size))
	}
	b.state = live
	c.stats.Allocated += b.size
	b.segment.pool.Allocated += b.size
	c.stats.Blocks++
	c.stats.PeakAllocated, c.stats.PeakReserved = max(c.stats.PeakAllocated, c.stats.Allocated), max(c.stats.PeakReserved, c.stats.Reserved)
	return b, nil
}

// reserve gets a segment for a block of size. If the device refuses, reserve flushes the cache once.
func (c *Caching) reserve(size quantity.Bytes, pool *freeSet) (*Block, error) {
	segment := roundUp(size, roundLarge)
	switch {
	case size <= smallSize:
		segment = smallSegment
	case size < minLarge:
		segment = largeSegment
	}
	if !c.device.Reserve(segment) {
		c.Flush()
		c.stats.Retries++
		if !c.device.Reserve(segment) {
			if c.Observe == nil || !c.Observe(size) {
				c.stats.OutOfMemory++
			}
			return nil, fmt.Errorf("allocate %s: %w", size, ErrOutOfMemory)
		}
	}
	stats := &c.stats.Large
	if pool == &c.small {
		stats = &c.stats.Small
	}
	stats.Reserved += segment
	stats.Segments++
	b := &Block{address: c.nextAddress, size: segment, home: pool, segment: &segmentStats{pool: stats}}
	c.nextAddress += uint64(segment) + addressGap
	c.segments[b] = struct{}{}
	c.stats.Segments++
	c.stats.Reserved += segment
	return b, nil
}

// Free frees a live block at once, and panics on any other block.
func (c *Caching) Free(b *Block) {
	if b.state != live {
		panic("allocator: free of a block that is not live")
	}
	c.settle(b)
}

// FreeLater makes a live block pending, as if another stream still used the block, until Settle.
func (c *Caching) FreeLater(b *Block) {
	if b.state != live {
		panic("allocator: free of a block that is not live")
	}
	b.state = pending
	c.stats.Pending += b.size
	c.waiting = append(c.waiting, b)
}

// Settle frees the pending blocks, as if their streams had been synchronised.
func (c *Caching) Settle() {
	for i, b := range c.waiting {
		c.stats.Pending -= b.size
		c.settle(b)
		c.waiting[i] = nil
	}
	c.waiting = c.waiting[:0]
}

func (c *Caching) settle(b *Block) {
	c.stats.Allocated -= b.size
	c.stats.Blocks--
	b.segment.pool.Allocated -= b.size
	b.state = free
	c.put(b.merge(c.take))
}

// Flush frees every whole free segment and returns their size, like torch.cuda.empty_cache(),
// which waits for pending blocks first.
func (c *Caching) Flush() quantity.Bytes {
	c.Settle()
	var freed quantity.Bytes
	for _, pool := range []*freeSet{&c.small, &c.large} {
		*pool = slices.DeleteFunc(*pool, func(b *Block) bool {
			if !b.whole() {
				return false
			}
			delete(c.segments, b)
			c.stats.Segments--
			b.segment.pool.Segments--
			b.segment.pool.Reserved -= b.size
			freed += b.size
			c.device.Release(b.size)
			return true
		})
	}
	c.stats.Cached -= freed
	c.stats.Reserved -= freed
	return freed
}

func (c *Caching) Stats() Stats {
	s := c.stats
	s.Returnable = s.Cached
	s.LargestFree = max(c.small.largest(), c.large.largest())
	return s
}

// Segments describes every segment, in the order of their addresses.
func (c *Caching) Segments() []probe.Segment {
	segments := make([]probe.Segment, 0, len(c.segments))
	for b := range c.segments {
		s := b.describe()
		s.Pool = "large"
		if b.home == &c.small {
			s.Pool = "small"
		}
		segments = append(segments, s)
	}
	sorted.Stable(segments, func(a, b probe.Segment) int { return cmp.Compare(a.Address, b.Address) })
	return segments
}

// put makes a free block available. A block in a set stays whole or not whole: its neighbours are not
// free, and freeing a neighbour first takes the block out of the set.
func (c *Caching) put(b *Block) {
	b.home.add(b)
	c.count(b, 1)
}

func (c *Caching) take(b *Block) {
	b.home.remove(b)
	c.count(b, -1)
}

// count adds a free block to the stats (sign 1), or removes the block from the stats (sign −1).
func (c *Caching) count(b *Block, sign int) {
	size := quantity.Bytes(sign) * b.size
	if b.whole() {
		c.stats.Cached += size
		return
	}
	c.stats.Fragmented += size
	b.segment.pool.Fragmented += size
	fragmented := b.segment.fragments > 0
	if b.segment.fragments += sign; fragmented != (b.segment.fragments > 0) {
		c.stats.Stranded += sign
	}
}
