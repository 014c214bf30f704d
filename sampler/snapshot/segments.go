package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

func (m *SegmentMap) Size() quantity.Bytes {
	var sum quantity.Bytes
	for i := range m.Segments {
		sum = min(sum+m.Segments[i].Size, quantity.EiB) // against overflow: thousands of segments may report a PiB each
	}
	return sum
}

// Segment is one piece of memory that an allocator has from the driver, in the protocol's JSON. The
// allocator returns a segment whole, or page by page if it is expandable.
type Segment struct {
	Address    uint64         `json:"address"`
	Size       quantity.Bytes `json:"size"`
	Pool       string         `json:"pool,omitempty"` // "small", "large"
	Stream     uint64         `json:"stream,omitempty"`
	Private    bool           `json:"private,omitempty"` // in the private pool of a CUDA graph, or in another private pool
	Expandable bool           `json:"expandable,omitempty"`
	Blocks     []Block        `json:"blocks"` // in order; their sizes add up to Size
}

// Block is a stretch of a segment in one state, encoded as [2097152,"live"].
type Block struct {
	Size  quantity.Bytes
	State BlockState
}

type BlockState uint8

// A flush frees cached blocks. A free block that no flush frees, because its segment has live blocks
// or its pool is private, is fragmented.
const (
	BlockLive    BlockState = iota
	BlockPending            // freed by the program, still in use by the GPU's streams
	BlockCached
	BlockFragmented
)

var blockStates = [...]string{BlockLive: "live", BlockPending: "pending", BlockCached: "cached", BlockFragmented: "stuck"}

func (b Block) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%q]", int64(b.Size), blockStates[b.State]), nil
}

var (
	errNoBlock   = errors.New(`a block is not [size,"state"]`)
	errNoSegment = errors.New("a segment is no object")
)

func (b *Block) UnmarshalJSON(data []byte) error {
	inner, ok := bytes.CutPrefix(data, []byte{'['})
	inner, closed := bytes.CutSuffix(inner, []byte{']'})
	size, word, pair := bytes.Cut(inner, []byte{','})
	word = bytes.TrimSpace(word)
	if !ok || !closed || !pair || len(word) < 2 || word[0] != '"' || word[len(word)-1] != '"' {
		return errNoBlock
	}
	if err := json.Unmarshal(size, &b.Size); err != nil {
		return errNoBlock
	}
	state := slices.Index(blockStates[:], string(word[1:len(word)-1]))
	if state < 0 {
		return fmt.Errorf("a block is %.256q", word[1:len(word)-1])
	}
	b.State = BlockState(state)
	return nil
}

// UnmarshalJSON refuses at once anything that is no object. Otherwise an array of a million numbers
// would first become a million empty segments.
func (s *Segment) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return errNoSegment
	}
	type plain Segment
	return json.Unmarshal(data, (*plain)(s))
}
