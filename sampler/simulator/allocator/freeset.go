package allocator

import (
	"slices"

	"vramscope/internal/quantity"
)

// freeSet holds free blocks ordered by size and then address, so that the best
// fit is the first block that is large enough. A sorted slice beats a tree for
// the few hundred blocks that a process has.
type freeSet struct {
	blocks []*Block
}

// position finds where a block of that size and address is or would be.
func (s *freeSet) position(size quantity.Bytes, address uint64) int {
	low, high := 0, len(s.blocks)
	for low < high {
		middle := int(uint(low+high) >> 1)
		b := s.blocks[middle]
		if b.size < size || b.size == size && b.address < address {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (s *freeSet) add(b *Block) {
	s.blocks = slices.Insert(s.blocks, s.position(b.size, b.address), b)
}

func (s *freeSet) remove(b *Block) {
	i := s.position(b.size, b.address)
	s.blocks = slices.Delete(s.blocks, i, i+1)
}

// fit is the smallest block of at least size, nil where there is none.
func (s *freeSet) fit(size quantity.Bytes) *Block {
	if i := s.position(size, 0); i < len(s.blocks) {
		return s.blocks[i]
	}
	return nil
}

func (s *freeSet) largest() quantity.Bytes {
	if len(s.blocks) == 0 {
		return 0
	}
	return s.blocks[len(s.blocks)-1].size
}
