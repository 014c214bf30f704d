package store

import "sort"

// chain is the sealed blocks of a series in one resolution, oldest first. It is
// immutable: adding and forgetting make a new one. Segments that do not touch
// have a gap between them.
type chain []segment

// segment is a few blocks in a row: the overhead of a single block would be larger
// than its bytes.
type segment struct {
	data      string // frames
	start     int64  // ordinal of its first place
	blocks    int32
	lastFrame int32 // where in data the last frame begins
}

// A segment is full at so many bytes or blocks. Only whole segments are forgotten,
// so that blocks may be kept for longer than needed, by up to a segment.
const (
	segmentBytes  = 448
	segmentBlocks = 16
)

func (g *segment) end(size int64) int64 { return g.start + int64(g.blocks)*size }

// push adds a block of size places that begins at ordinal start, behind all
// others.
func (c chain) push(start, size int64, f frame, work []byte) chain {
	n := len(c)
	if n == 0 || c[n-1].end(size) != start || c[n-1].blocks >= segmentBlocks || len(c[n-1].data) >= segmentBytes {
		longer := append(make(chain, 0, n+1), c...)
		return append(longer, segment{data: string(appendFrame(work[:0], f)), start: start, blocks: 1})
	}
	same := append(make(chain, 0, n), c...)
	g := &same[n-1]
	g.blocks++
	last, _, ok := takeFrame(g.data[g.lastFrame:])
	if ok && last.kind == f.kind && last.payload == f.payload && last.repeats < mostRepeats {
		last.repeats++
		work = append(work[:0], g.data[:g.lastFrame]...)
		g.data = string(appendFrame(work, last))
		return same
	}
	work = append(work[:0], g.data...)
	g.lastFrame = int32(len(g.data))
	g.data = string(appendFrame(work, f))
	return same
}

// forget drops the segments that lie wholly before an ordinal.
func (c chain) forget(before, size int64) chain {
	n := c.after(before, size)
	if n == 0 {
		return c
	}
	return append(chain(nil), c[n:]...) // a subslice would keep the forgotten segments
}

// after is the index of the first segment that ends after an ordinal.
func (c chain) after(ordinal, size int64) int {
	return sort.Search(len(c), func(i int) bool { return c[i].end(size) > ordinal })
}

// find gives the block that begins at ordinal start.
func (c chain) find(start, size int64) (frame, bool) {
	i := c.after(start, size)
	if i == len(c) || c[i].start > start {
		return frame{}, false
	}
	skip := int((start - c[i].start) / size)
	for data := c[i].data; ; {
		f, rest, ok := takeFrame(data)
		if !ok || skip < f.repeats {
			return f, ok
		}
		skip -= f.repeats
		data = rest
	}
}

// blocks calls visit for every block that has a place in [from, to), oldest
// first. Equal blocks follow each other with fresh false: what the frame
// decodes to is what it decoded to before.
func (c chain) blocks(from, to, size int64, visit func(start int64, f *frame, fresh bool)) {
	for i := c.after(from, size); i < len(c) && c[i].start < to; i++ {
		start := c[i].start
		for data := c[i].data; start < to; {
			f, rest, ok := takeFrame(data)
			if !ok {
				break
			}
			fresh := true
			for range f.repeats {
				if start+size > from && start < to {
					visit(start, &f, fresh)
					fresh = false
				}
				start += size
			}
			data = rest
		}
	}
}
