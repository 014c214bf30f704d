package store

import "encoding/binary"

// bitWriter appends numbers of any width up to 64 bits, lowest bit first.
type bitWriter struct {
	dst     []byte
	pending uint64
	filled  int // bits in pending, under 64
}

// put writes the low width bits of v. The other bits of v must be zero.
func (w *bitWriter) put(v uint64, width int) {
	w.pending |= v << w.filled
	if w.filled+width < 64 {
		w.filled += width
		return
	}
	w.dst = binary.LittleEndian.AppendUint64(w.dst, w.pending)
	w.pending = v >> (64 - w.filled) // 0 if filled was 0: Go shifts all bits out
	w.filled += width - 64
}

// finish flushes to a whole byte and returns all bytes.
func (w *bitWriter) finish() []byte {
	for w.filled > 0 {
		w.dst = append(w.dst, byte(w.pending))
		w.pending >>= 8
		w.filled -= 8
	}
	w.filled = 0
	return w.dst
}

// bitReader reads the output of a bitWriter. Beyond the end of src it reads zeros; the caller must
// have checked the length.
type bitReader struct {
	src     []byte
	pending uint64
	filled  int
}

func (r *bitReader) take(width int) uint64 {
	if width <= r.filled {
		v := r.pending & (1<<width - 1)
		r.pending >>= width
		r.filled -= width
		return v
	}
	v, have := r.pending, r.filled
	r.refill()
	missing := width - have
	v |= r.pending << have
	r.pending >>= missing
	r.filled -= missing
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}

// refill loads the next 64 bits, or as many as are left.
func (r *bitReader) refill() {
	r.pending, r.filled = 0, 64
	if len(r.src) >= 8 {
		r.pending = binary.LittleEndian.Uint64(r.src)
		r.src = r.src[8:]
		return
	}
	for i, b := range r.src {
		r.pending |= uint64(b) << (8 * i)
	}
	r.src = nil
}
