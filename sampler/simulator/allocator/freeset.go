package allocator

import (
	"cmp"
	"slices"

	"vramscope/internal/quantity"
)

// freeSet holds free blocks ordered by size and then address, so that the best fit is the first
// block that is large enough.
type freeSet []*Block

func (s freeSet) position(size quantity.Bytes, address uint64) int {
	at, _ := slices.BinarySearchFunc(s, size, func(b *Block, size quantity.Bytes) int {
		return cmp.Or(cmp.Compare(b.size, size), cmp.Compare(b.address, address))
	})
	return at
}

func (s *freeSet) add(b *Block) { *s = slices.Insert(*s, s.position(b.size, b.address), b) }

func (s *freeSet) remove(b *Block) {
	at := s.position(b.size, b.address)
	*s = slices.Delete(*s, at, at+1)
}

func (s freeSet) fit(size quantity.Bytes) *Block {
	if at := s.position(size, 0); at < len(s) {
		return s[at]
	}
	return nil
}

func (s freeSet) largest() quantity.Bytes {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].size
}
