package snapshot

import (
	"time"

	"vramscope/internal/quantity"
)

// SegmentMap is the layout of a process's memory at one moment: an allocator's segments, and the
// blocks in them.
type SegmentMap struct {
	Time     time.Time
	Segments []Segment // by address
	// Left is how many segments were left out because there were too many.
	Left int
}

// Size returns the sum of the segments.
func (m *SegmentMap) Size() quantity.Bytes {
	var sum quantity.Bytes
	for i := range m.Segments {
		sum = min(sum+m.Segments[i].Size, quantity.EiB) // a segment is at most a PiB, and there are thousands
	}
	return sum
}

// Segment is one piece of memory that an allocator has from the driver. The driver takes it back
// whole or not at all, except for the whole free pages of an expandable one.
type Segment struct {
	Address    uint64
	Size       quantity.Bytes
	Private    bool // of a CUDA graph's or another private pool
	Expandable bool
	Blocks     []Block // in order; their sizes add up to Size
}

// Block is a stretch of a segment in one state.
type Block struct {
	Size  quantity.Bytes
	State BlockState
}

// BlockState is the state of a block's memory.
type BlockState uint8

// The states. Fragmented is free, but in a segment with live blocks; Cached is free and would be
// freed by a flush.
const (
	BlockLive BlockState = iota
	BlockPending
	BlockCached
	BlockFragmented
)
