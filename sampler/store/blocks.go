package store

import "slices"

// blocks are the sealed blocks of a series in one resolution, oldest first.
type blocks struct {
	data  []byte // a frame for each block
	first int64  // ordinal of the first place
	end   int64  // ordinal after the last place
	last  int    // index in data of the last frame
}

// blockPlaces is how many ticks or buckets a block covers.
const blockPlaces = 128

// push appends a block that begins at ordinal start.
func (b *blocks) push(start int64, f frame) {
	if len(b.data) == 0 {
		b.first, b.end = start, start
	}
	for ; b.end < start; b.end += blockPlaces {
		b.data = appendFrame(b.data, frame{})
	}
	b.last = len(b.data)
	b.data = appendFrame(b.data, f)
	b.end = start + blockPlaces
	if cap(b.data) > len(b.data)+len(b.data)/16 { // the spare capacity after append would take much memory
		b.data = slices.Clone(b.data)
	}
}

// pop removes the last block, which must not be a gap. The block is valid until the next push.
func (b *blocks) pop() (start int64, f frame) {
	f, _, _ = takeFrame(b.data[b.last:])
	b.data, b.end = b.data[:b.last], b.end-blockPlaces
	return b.end, f
}

// forget drops the blocks that lie wholly before an ordinal.
func (b *blocks) forget(before int64) {
	for len(b.data) > 0 && b.first+blockPlaces <= before {
		_, rest, _ := takeFrame(b.data)
		b.last -= len(b.data) - len(rest)
		b.data = rest
		b.first += blockPlaces
	}
}

// find returns the block of a place, an empty frame if there is none.
func (b *blocks) find(place int64) (found frame) {
	b.each(place, place+1, func(_ int64, f frame) { found = f })
	return found
}

// each calls visit for every block that has a place in [from, to), oldest first.
func (b *blocks) each(from, to int64, visit func(start int64, f frame)) {
	data := b.data
	for start := b.first; len(data) > 0 && start < to; start += blockPlaces {
		f, rest, ok := takeFrame(data)
		if !ok {
			return
		}
		if start+blockPlaces > from {
			visit(start, f)
		}
		data = rest
	}
}
