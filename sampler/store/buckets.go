package store

// extent is a bucket's summary of its samples.
type extent struct{ min, max, last int64 }

// bucketBlock is a block of buckets, decoded. Only buckets with a tick have an ordinal.
type bucketBlock struct {
	present mask
	values  [blockPlaces]extent

	// Buffers of encode and decode.
	last, low, high [blockPlaces]int64
}

// fold adds the oldest block of the full resolution to the buckets.
func (r *Series) fold() {
	s, oldest := r.store, r.oldest()
	f := r.full.find(oldest)
	var m mask
	if _, ok := f.decode(&m, s.work.values[:]); !ok || m == (mask{}) {
		return
	}
	b := &s.work.buckets
	b.present = mask{}
	start := int64(-1) // ordinal of b's first bucket; -1: b is empty
	if len(r.buckets.data) > 0 {
		var newest frame
		start, newest = r.buckets.pop()
		b.decode(newest)
	}
	bucket, end := int64(-1), int64(-1<<63)
	n := 0
	for i := range blockPlaces {
		if !m.has(i) {
			continue
		}
		v := s.work.values[n]
		n++
		if t := s.ticks.at(oldest + int64(i)); t >= end {
			bucket = s.buckets.after(t) - 1
			end = s.buckets.at(max(bucket, s.buckets.first)) + s.width
		}
		if bucket < s.buckets.first {
			continue // the tick is older than the oldest bucket
		}
		if blockStart := bucket &^ (blockPlaces - 1); blockStart != start {
			if start >= 0 {
				r.buckets.push(start, b.encode(s.work.payload[:0]))
			}
			start, b.present = blockStart, mask{}
		}
		b.add(int(bucket-start), v)
	}
	if start >= 0 {
		r.buckets.push(start, b.encode(s.work.payload[:0]))
	}
}

func (b *bucketBlock) add(i int, v int64) {
	e := &b.values[i]
	if !b.present.has(i) {
		b.present.set(i)
		*e = extent{v, v, v}
		return
	}
	*e = extent{min(e.min, v), max(e.max, v), v}
}

// encode writes the block as three columns: the last values, and how far the minima and the maxima lie
// outside the range between the last values of the bucket and of the bucket before.
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
	payload, kind := appendPayload(work, &b.present, b.last[:n], b.low[:n], b.high[:n])
	return frame{kind, payload}
}

func (b *bucketBlock) decode(f frame) bool {
	count, ok := f.decode(&b.present, b.last[:], b.low[:], b.high[:])
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
