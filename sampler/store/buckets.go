package store

// blockBuckets is how many buckets a block of the coarse resolution covers.
const blockBuckets = 128

// bucketBlock is a block of buckets, decoded. Only buckets that had a tick
// have an ordinal, so a suspended machine and a slow interval leave no holes.
type bucketBlock struct {
	start   int64
	present mask
	values  [blockBuckets]extent

	// Room for encode and decode.
	last, low, high [blockBuckets]int64
}

// fold turns the block at the cursor into buckets.
func (st *state) fold(s *Store) {
	f, ok := st.full.find(st.cursor, blockTicks)
	if !ok {
		return
	}
	var m mask
	if _, ok := f.decode(blockTicks, &m, s.work.values[:]); !ok {
		return // unreachable: push wrote it
	}
	p := &st.pending
	done := s.work.done[:0]
	bucket, end := int64(-1), int64(-1<<63)
	n := 0
	for i := range blockTicks {
		if !m.has(i) {
			continue
		}
		v := s.work.values[n]
		n++
		if t := s.ticks.at(st.cursor + int64(i)); t >= end {
			bucket = s.buckets.after(t) - 1
			end = s.buckets.at(max(bucket, s.buckets.first())) + s.width
		}
		switch {
		case bucket < s.buckets.first():
			// Older than the span of the buckets: the full resolution reaches further back.
		case p.known && p.ordinal == bucket:
			p.value = extent{min(p.value.min, v), max(p.value.max, v), v}
		default:
			if p.known {
				done = append(done, *p)
			}
			*p = pending{known: true, ordinal: bucket, value: extent{v, v, v}}
		}
	}
	s.work.done = done
	if len(done) > 0 {
		st.keep(done, s)
	}
}

// keep adds finished buckets to the tail, and full tails to the chain.
func (st *state) keep(done []pending, s *Store) {
	b := &s.work.tail
	b.start, b.present = done[0].ordinal&^(blockBuckets-1), mask{}
	if st.tail.data != "" {
		b.start = st.tail.start
		f, _, _ := takeFrame(st.tail.data)
		b.decode(&f)
	}
	for _, d := range done {
		if start := d.ordinal &^ (blockBuckets - 1); start != b.start {
			f := b.encode(s.work.payload[:0])
			st.buckets = st.buckets.push(b.start, blockBuckets, f, s.work.segment)
			b.start, b.present = start, mask{}
		}
		i := int(d.ordinal - b.start)
		b.present.set(i)
		b.values[i] = d.value
	}
	f := b.encode(s.work.payload[:0])
	st.tail = segment{data: string(appendFrame(s.work.segment[:0], f)), start: b.start, blocks: 1}
}

// encode writes the block as three columns: the last values, and how far the
// extremes lie from where a single step inside the bucket would put them,
// which for memory is zero nearly always.
func (b *bucketBlock) encode(work []byte) frame {
	n := 0
	var before int64
	for i := range b.values {
		if !b.present.has(i) {
			continue
		}
		v := b.values[i]
		if n == 0 {
			before = v.last
		}
		b.last[n] = v.last
		b.low[n] = min(before, v.last) - v.min
		b.high[n] = v.max - max(before, v.last)
		before = v.last
		n++
	}
	payload, kind := appendPayload(work, &b.present, blockBuckets, b.last[:n], b.low[:n], b.high[:n])
	return frame{kind, 1, string(payload)}
}

// decode is the reverse; the block's start is not in the frame.
func (b *bucketBlock) decode(f *frame) bool {
	count, ok := f.decode(blockBuckets, &b.present, b.last[:], b.low[:], b.high[:])
	if !ok {
		b.present = mask{}
		return false
	}
	n := 0
	before := b.last[0]
	for i := range b.values {
		if n < count && b.present.has(i) {
			last := b.last[n]
			b.values[i] = extent{min(before, last) - b.low[n], max(before, last) + b.high[n], last}
			before = last
			n++
		}
	}
	return true
}
