package store

// BlockTicks is how many ticks a Block covers.
const BlockTicks = blockPlaces

// Block holds a series' samples at up to BlockTicks ticks, for a recording.
type Block struct {
	present mask
	values  [blockPlaces]int64
}

// Set sets the sample at place i.
func (b *Block) Set(i int, v int64) {
	b.present.set(i)
	b.values[i] = v
}

// At returns the sample at place i; false for a gap.
func (b *Block) At(i int) (int64, bool) { return b.values[i], b.present.has(i) }

// Count returns the number of samples.
func (b *Block) Count() int { return b.present.count() }

// Reset makes all places gaps.
func (b *Block) Reset() { b.present = mask{} }

// Append appends the block's encoding: a frame's kind and payload, nothing for a block without samples.
func (b *Block) Append(dst []byte) []byte {
	if b.Count() == 0 {
		return dst
	}
	var values [blockPlaces]int64
	at := len(dst)
	dst, kind := appendPayload(append(dst, 0), &b.present, b.present.collect(&b.values, &values))
	dst[at] = kind
	return dst
}

// Decode replaces the block by the block that Append has encoded. For other bytes, Decode returns
// false, and the block is empty.
func (b *Block) Decode(data []byte) bool {
	b.Reset()
	if len(data) == 0 {
		return true
	}
	var values [blockPlaces]int64
	f := frame{kind: data[0], payload: data[1:]}
	if _, ok := f.decode(&b.present, values[:]); !ok {
		b.Reset()
		return false
	}
	n := 0
	for i := range b.values {
		if b.present.has(i) {
			b.values[i] = values[n]
			n++
		}
	}
	return true
}

// collect copies the present values to the front.
func (m *mask) collect(from, to *[blockPlaces]int64) []int64 {
	if m.count() == blockPlaces {
		return from[:]
	}
	n := 0
	for i := range from {
		if m.has(i) {
			to[n] = from[i]
			n++
		}
	}
	return to[:n]
}
