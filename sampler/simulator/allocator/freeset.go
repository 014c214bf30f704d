package allocator

import (
	"slices"
	"sort"

	"vramscope/internal/quantity"
)

// freeSet holds free blocks ordered by size and then address, so that the best
// fit is the first block that is large enough. A sorted slice beats a tree for
// the few hundred blocks that a process has.
//
// The order is kept without pointers: it moves at every change, and moving pointers
// costs several times as much while the garbage collector runs.
type freeSet struct {
	order  []place
	blocks []*Block // nil where the slot is vacant
	vacant []int    // slots
}

// place is a block's place in the order.
type place struct {
	size    quantity.Bytes
	address uint64
	slot    int // in blocks
}

// position finds where a block of that size and address is or would be.
func (s *freeSet) position(size quantity.Bytes, address uint64) int {
	return sort.Search(len(s.order), func(i int) bool {
		p := &s.order[i]
		return p.size > size || p.size == size && p.address >= address
	})
}

func (s *freeSet) add(b *Block) {
	at := s.position(b.size, b.address)
	s.order = slices.Insert(s.order, at, place{size: b.size, address: b.address, slot: s.occupy(b)})
}

// occupy puts the block into a vacant slot, or a new one.
func (s *freeSet) occupy(b *Block) int {
	if last := len(s.vacant) - 1; last >= 0 {
		slot := s.vacant[last]
		s.vacant = s.vacant[:last]
		s.blocks[slot] = b
		return slot
	}
	s.blocks = append(s.blocks, b)
	return len(s.blocks) - 1
}

func (s *freeSet) remove(b *Block) {
	at := s.position(b.size, b.address)
	s.vacate(s.order[at].slot)
	s.order = slices.Delete(s.order, at, at+1)
}

func (s *freeSet) vacate(slot int) {
	s.blocks[slot] = nil
	s.vacant = append(s.vacant, slot)
}

// sweep removes the blocks that drop says yes to, from the smallest on.
func (s *freeSet) sweep(drop func(*Block) bool) {
	s.order = slices.DeleteFunc(s.order, func(p place) bool {
		if !drop(s.blocks[p.slot]) {
			return false
		}
		s.vacate(p.slot)
		return true
	})
}

// fit is the smallest block of at least size, nil where there is none.
func (s *freeSet) fit(size quantity.Bytes) *Block {
	if at := s.position(size, 0); at < len(s.order) {
		return s.blocks[s.order[at].slot]
	}
	return nil
}

func (s *freeSet) largest() quantity.Bytes {
	if len(s.order) == 0 {
		return 0
	}
	return s.order[len(s.order)-1].size
}
