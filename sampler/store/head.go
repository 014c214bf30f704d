package store

import "sync/atomic"

// blockTicks is how many ticks a block of the full resolution covers.
const blockTicks = 128

// head is the newest block of a series, not compressed. The writer fills values at
// ticks that are not published yet; readers read older bits of the same words of
// present.
type head struct {
	values  [blockTicks]int64
	present [2]atomic.Uint64
}

func (h *head) set(i int, v int64) {
	h.values[i] = v
	word := &h.present[i>>6]
	word.Store(word.Load() | 1<<(i&63)) // there is one writer
}

func (h *head) mask() mask {
	return mask{h.present[0].Load(), h.present[1].Load()}
}

// mask is the places of a block with a value.
type mask [2]uint64

func (m *mask) has(i int) bool { return m[i>>6]>>(i&63)&1 != 0 }
func (m *mask) set(i int)      { m[i>>6] |= 1 << (i & 63) }

// headPool reuses heads. A reader may still use a returned head: it waits in
// retired until no reader is inside; later readers cannot reach it.
type headPool struct {
	readers atomic.Int64
	free    []*head
	retired []*head
}

// mostRetired limits the waiting heads, for readers that never all leave at once.
// The garbage collector frees the others.
const mostRetired = 1024

func (p *headPool) enter() { p.readers.Add(1) }
func (p *headPool) leave() { p.readers.Add(-1) }

func (p *headPool) take() *head {
	n := len(p.free)
	if n == 0 {
		return new(head)
	}
	h := p.free[n-1]
	p.free[n-1] = nil
	p.free = p.free[:n-1]
	return h
}

func (p *headPool) retire(h *head) {
	if len(p.retired) < mostRetired {
		p.retired = append(p.retired, h)
	}
}

// reclaim makes retired heads free again if no reader can hold one.
func (p *headPool) reclaim() {
	if len(p.retired) == 0 || p.readers.Load() != 0 {
		return
	}
	for _, h := range p.retired {
		if len(p.free) >= mostRetired {
			break
		}
		h.present[0].Store(0)
		h.present[1].Store(0)
		p.free = append(p.free, h)
	}
	clear(p.retired)
	p.retired = p.retired[:0]
}
