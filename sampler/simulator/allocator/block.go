package allocator

import (
	"errors"

	"vramscope/internal/quantity"
	"vramscope/probe"
)

// ErrOutOfMemory is returned if neither the allocator nor the device has enough free memory.
var ErrOutOfMemory = errors.New("out of memory")

// Device provides segments, like cudaMalloc and cudaFree.
type Device interface {
	Reserve(size quantity.Bytes) bool // false: the device has too little free memory
	Release(size quantity.Bytes)
}

// Stats are an allocator's stats. Reserved = Allocated + Cached + Fragmented.
type Stats struct {
	Reserved    quantity.Bytes // got from the device
	Allocated   quantity.Bytes // in live blocks, pending ones included
	Cached      quantity.Bytes // free segments
	Fragmented  quantity.Bytes // free, in segments with live blocks
	Returnable  quantity.Bytes // how much Flush would free
	Pending     quantity.Bytes // freed by the program, still used by a stream
	LargestFree quantity.Bytes // largest free block
	Segments    int
	Stranded    int // segments with free memory beside live blocks
	Blocks      int // live blocks, including pending ones
	OutOfMemory int // allocations that failed
	Retries     int // allocations for which the cache was flushed first

	PeakAllocated quantity.Bytes // the highest so far
	PeakReserved  quantity.Bytes

	Small, Large Pool // empty if the allocator has no pools
}

// Pool is a part of an allocator.
type Pool struct {
	Reserved, Allocated, Fragmented quantity.Bytes
	Segments                        int
}

type segmentStats struct {
	pool      *Pool
	fragments int // free blocks that do not fill the segment
}

type state uint8

const (
	free state = iota
	live
	pending
)

// Block is a range of a segment. After Free it must not be used again.
type Block struct {
	address  uint64
	size     quantity.Bytes
	previous *Block // neighbours in the segment
	next     *Block
	home     *freeSet // the set of the block when it is free
	segment  *segmentStats
	state    state
}

// Size returns the block's size in its segment: the requested size, rounded up.
func (b *Block) Size() quantity.Bytes { return b.size }

func (b *Block) whole() bool { return b.previous == nil && b.next == nil }

// split cuts the block down to size and returns the rest as a free block.
func (b *Block) split(size quantity.Bytes) *Block {
	rest := &Block{
		address:  b.address + uint64(size),
		size:     b.size - size,
		previous: b,
		next:     b.next,
		home:     b.home,
		segment:  b.segment,
	}
	if b.next != nil {
		b.next.previous = rest
	}
	b.next = rest
	b.size = size
	return rest
}

// absorb appends the right neighbour to the block, so that a segment's first block never changes.
func (b *Block) absorb() {
	right := b.next
	b.size += right.size
	b.next = right.next
	if b.next != nil {
		b.next.previous = b
	}
	right.previous, right.next = nil, nil
}

// merge joins a newly freed block with its free neighbours, which leave their set, and returns
// the joined block.
func (b *Block) merge(take func(*Block)) *Block {
	if right := b.next; right != nil && right.state == free {
		take(right)
		b.absorb()
	}
	if left := b.previous; left != nil && left.state == free {
		take(left)
		left.absorb()
		return left
	}
	return b
}

// describe describes the segment that starts at b, in the form of the protocol.
func (b *Block) describe() probe.Segment {
	s := probe.Segment{Address: b.address}
	for whole := b.whole(); b != nil; b = b.next {
		state := probe.BlockLive
		switch {
		case b.state == pending:
			state = probe.BlockPending
		case b.state == free && whole:
			state = probe.BlockCached
		case b.state == free:
			state = probe.BlockFragmented
		}
		s.Size += b.size
		s.Blocks = append(s.Blocks, probe.Block{Size: b.size, State: state})
	}
	return s
}

func roundUp(size, unit quantity.Bytes) quantity.Bytes {
	return (size + unit - 1) / unit * unit
}
