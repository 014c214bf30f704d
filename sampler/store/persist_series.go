package store

import "encoding/binary"

// The parts that a saved series has, as bits.
const (
	savedClosed = 1 << iota
	savedHead
	savedTail
	savedPending
)

// appendTo writes the series:
//
//	has start cursor [head] full buckets [tail] [pending]
//	head = mask column    chain = count (start bytes)*
func (r *Series) appendTo(p []byte) []byte {
	st := r.state.Load()
	has := byte(0)
	if r.closed {
		has |= savedClosed
	}
	if r.head != nil {
		has |= savedHead
	}
	if st.tail.data != "" {
		has |= savedTail
	}
	if st.pending.known {
		has |= savedPending
	}
	p = append(p, has)
	p = binary.AppendVarint(p, r.start)
	p = binary.AppendVarint(p, st.cursor)
	if r.head != nil {
		m := r.head.mask()
		p = binary.LittleEndian.AppendUint64(p, m[0])
		p = binary.LittleEndian.AppendUint64(p, m[1])
		if m != (mask{}) {
			p = appendColumn(p, m.collect(&r.head.values, &r.store.work.values))
		}
	}
	p = st.full.appendTo(p)
	p = st.buckets.appendTo(p)
	if st.tail.data != "" {
		p = st.tail.appendTo(p)
	}
	if st.pending.known {
		p = binary.AppendUvarint(p, uint64(st.pending.ordinal))
		for _, v := range [...]int64{st.pending.value.min, st.pending.value.max, st.pending.value.last} {
			p = binary.AppendVarint(p, v)
		}
	}
	return p
}

func (c chain) appendTo(p []byte) []byte {
	p = binary.AppendUvarint(p, uint64(len(c)))
	for i := range c {
		p = c[i].appendTo(p)
	}
	return p
}

func (g *segment) appendTo(p []byte) []byte {
	p = binary.AppendVarint(p, g.start)
	p = binary.AppendUvarint(p, uint64(len(g.data)))
	return append(p, g.data...)
}

// loadSeries reads a series into the store; nil where it is invalid.
func (s *Store) loadSeries(in *input) *Series {
	if in.rest == "" {
		return nil
	}
	has := in.rest[0]
	in.rest = in.rest[1:]
	r := &Series{store: s, closed: has&savedClosed != 0}
	r.start = in.varint()
	next := state{start: r.start, cursor: in.varint()}
	if has&savedHead != 0 {
		r.head = in.head(r.start, s.next)
		next.head = r.head
	}
	next.full = in.chain(next.start, blockTicks)
	next.buckets = in.chain(0, blockBuckets)
	if has&savedTail != 0 {
		next.tail = in.segment(0, blockBuckets)
	}
	if has&savedPending != 0 {
		next.pending = pending{known: true, ordinal: in.below(mostOrdinal)}
		next.pending.value = extent{in.varint(), in.varint(), in.varint()}
	}
	if in.bad || has >= savedPending<<1 || !next.sound(s, r) {
		return nil
	}
	r.publish(next)
	if !r.forgotten() {
		phase := r.start & (blockTicks - 1)
		s.members[phase] = append(s.members[phase], r)
	}
	return r
}

// sound checks the invariants of a series.
func (st *state) sound(s *Store, r *Series) bool {
	if st.start < -blockTicks || st.start > s.next || st.cursor < -blockTicks || st.cursor > st.start || (st.start-st.cursor)%blockTicks != 0 {
		return false
	}
	if r.closed && st.empty() {
		return true // all of it is forgotten
	}
	// A series whose turn has come rolls at the next tick, not later; an open
	// one appends to its head.
	if s.next-st.start > blockTicks || !r.closed && r.head == nil {
		return false
	}
	// Times are forgotten when no series needs them for folding.
	if s.next-s.fullSamples-st.cursor >= 2*blockTicks {
		return false
	}
	// Folding asks for the time of every tick from the cursor on that has a
	// sample. Only before the very first tick may a block reach further back.
	if st.cursor < s.ticks.first() && (s.ticks.first() != 0 || st.pending.known || !st.noneBeforeZero()) {
		return false
	}
	return st.full.within(st.start, blockTicks) && st.buckets.within(s.buckets.end, blockBuckets) &&
		(st.tail.data == "" || st.tail.start < s.buckets.end && st.tail.blocks == 1) &&
		(!st.pending.known || st.pending.ordinal < s.buckets.end)
}

// noneBeforeZero reports that the block at the cursor has no sample before ordinal 0.
func (st *state) noneBeforeZero() bool {
	f, ok := st.full.find(st.cursor, blockTicks)
	if !ok {
		return true
	}
	var m mask
	var values [blockTicks]int64
	if _, ok := f.decode(blockTicks, &m, values[:]); !ok {
		return false
	}
	return m.before(int(-st.cursor)) == 0
}

// within reports that the segments are in order and end by an ordinal; a block
// that is not full ends with its last place.
func (c chain) within(end, size int64) bool {
	for i := range c {
		if i > 0 && c[i].start < c[i-1].end(size) || c[i].end(size) >= end+size {
			return false
		}
	}
	return true
}

// head reads a head whose first place is at ordinal start, of which those
// before the next tick may have a value.
func (in *input) head(start, next int64) *head {
	if len(in.rest) < 16 {
		in.fail()
		return nil
	}
	bits := []byte(in.rest[:16])
	m := mask{binary.LittleEndian.Uint64(bits), binary.LittleEndian.Uint64(bits[8:])}
	in.rest = in.rest[16:]
	var allowed mask
	if first, end := max(-start, 0), min(next-start, blockTicks); first < end {
		allowed.fill(int(first), int(end-first))
	}
	if m[0]&^allowed[0] != 0 || m[1]&^allowed[1] != 0 {
		in.fail()
		return nil
	}
	h := new(head)
	if m == (mask{}) {
		return h
	}
	var values [blockTicks]int64
	rest, ok := takeColumn(in.rest, values[:m.count()])
	if !ok {
		in.fail()
		return nil
	}
	in.rest = rest
	n := 0
	for i := range blockTicks {
		if m.has(i) {
			h.set(i, values[n])
			n++
		}
	}
	return h
}

// chain reads segments whose starts are a whole number of blocks away from an
// ordinal.
func (in *input) chain(aligned, size int64) chain {
	n := in.below(uint64(len(in.rest)) + 1)
	var c chain
	for range n {
		g := in.segment(aligned, size)
		if in.bad {
			return nil
		}
		c = append(c, g)
	}
	return c
}

// segment reads a segment and counts its blocks.
func (in *input) segment(aligned, size int64) segment {
	g := segment{start: in.varint(), data: in.bytes()}
	if g.start < -blockTicks || g.start > mostOrdinal || (g.start-aligned)%size != 0 {
		in.fail()
	}
	for data := g.data; data != "" && !in.bad; {
		f, rest, ok := takeFrame(data)
		g.blocks += int32(f.repeats)
		if !ok || g.blocks > segmentBlocks {
			in.fail()
			break
		}
		g.lastFrame = int32(len(g.data) - len(data))
		data = rest
	}
	if g.blocks == 0 {
		in.fail()
	}
	if in.bad {
		return segment{}
	}
	return g
}
