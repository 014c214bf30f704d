package store

import (
	"encoding/binary"
	"math/bits"
)

// A column is up to 128 numbers in the shortest of four encodings. The first byte has the encoding
// in its low two bits and a shift in the high five: amounts of memory are multiples of large powers
// of two, and zero bits at the end of all differences are not stored. The third bit is set if the
// first value is shifted too.
//
//	flat    value                       all are equal
//	runs    value length (step length)* a step is a difference, zigzag; a length counts repeats
//	packed  least width bits*           distances from the least, all of one width
//	deltas  value width bits*           differences, zigzag, all of one width
//
// Steps of memory make runs, noise makes packed, a slope makes deltas. All arithmetic wraps
// around, so that any int64 can be stored.
const (
	flat = iota
	runs
	packed
	deltas
)

// appendColumn appends the encoding of 1 to 128 values.
func appendColumn(dst []byte, values []int64) []byte {
	first := values[0]
	low, high := first, first
	var steps uint64
	changes := 0
	before := first
	for _, v := range values[1:] {
		low, high = min(low, v), max(high, v)
		if d := v - before; d != 0 {
			changes++
			steps |= uint64(d)
		}
		before = v
	}
	if changes == 0 {
		return appendStart(dst, flat, trailing(uint64(first)), first)
	}
	stepShift := trailing(steps)
	var spread, mostStep uint64
	runBytes := uvarintLen(zigzag(first)) + 1
	before = first
	for _, v := range values {
		spread |= uint64(v - low)
		if d := v - before; d != 0 {
			z := zigzag(d >> stepShift)
			mostStep |= z
			runBytes += uvarintLen(z<<1) + 1
			before = v
		}
	}
	shift := trailing(spread)
	width := bits.Len64(uint64(high-low) >> shift)
	stepWidth := bits.Len64(mostStep)
	packedBytes := uvarintLen(zigzag(low)) + 1 + (len(values)*width+7)/8
	deltaBytes := uvarintLen(zigzag(first)) + 1 + ((len(values)-1)*stepWidth+7)/8
	switch {
	case runBytes <= packedBytes && runBytes <= deltaBytes && stepWidth < 64:
		return appendRuns(dst, values, stepShift)
	case packedBytes <= deltaBytes:
		dst = appendStart(dst, packed, shift, low)
		dst = append(dst, byte(width))
		w := bitWriter{dst: dst}
		for _, v := range values {
			w.put(uint64(v-low)>>shift, width)
		}
		return w.finish()
	default:
		dst = appendStart(dst, deltas, stepShift, first)
		dst = append(dst, byte(stepWidth))
		w := bitWriter{dst: dst}
		before = first
		for _, v := range values[1:] {
			w.put(zigzag((v-before)>>stepShift), stepWidth)
			before = v
		}
		return w.finish()
	}
}

const shifted = 4 // in the first byte: the first value is shifted too

func appendStart(dst []byte, way byte, shift int, value int64) []byte {
	start := way | byte(shift<<3)
	if value&(1<<shift-1) == 0 {
		start |= shifted
		value >>= shift
	}
	return binary.AppendUvarint(append(dst, start), zigzag(value))
}

// appendRuns writes runs. The lowest bit of a step is set if a length follows. Without a length, the
// value occurs once.
func appendRuns(dst []byte, values []int64, shift int) []byte {
	dst = appendStart(dst, runs, shift, values[0])
	before := values[0]
	for i := 0; i < len(values); {
		v := values[i]
		n := i + 1
		for n < len(values) && values[n] == v {
			n++
		}
		length := uint64(n - i)
		switch {
		case i == 0:
			dst = binary.AppendUvarint(dst, length)
		case length == 1:
			dst = binary.AppendUvarint(dst, zigzag((v-before)>>shift)<<1)
		default:
			dst = binary.AppendUvarint(dst, zigzag((v-before)>>shift)<<1|1)
			dst = binary.AppendUvarint(dst, length)
		}
		before = v
		i = n
	}
	return dst
}

// takeColumn decodes len(out) numbers from the front of s and returns the rest. It returns false,
// and an invalid out, for bytes that are no column of that length.
func takeColumn(s []byte, out []int64) (rest []byte, ok bool) {
	if len(s) == 0 || len(out) == 0 {
		return s, len(out) == 0
	}
	way, shift, both := s[0]&3, int(s[0]>>3), s[0]&shifted != 0
	u, s, ok := takeUvarint(s[1:])
	if !ok {
		return s, false
	}
	value := unzigzag(u)
	if both {
		value <<= shift
	}
	if way == flat {
		for i := range out {
			out[i] = value
		}
		return s, true
	}
	if way == runs {
		return takeRuns(s, value, shift, out)
	}
	if len(s) == 0 || s[0] > 64 {
		return s, false
	}
	width := int(s[0])
	n := len(out)
	if way == deltas {
		n--
	}
	size := (n*width + 7) / 8
	if size > len(s)-1 {
		return s, false
	}
	r := bitReader{src: s[1 : 1+size]}
	rest = s[1+size:]
	if way == packed {
		for i := range out {
			out[i] = value + int64(r.take(width)<<shift)
		}
		return rest, true
	}
	out[0] = value
	for i := 1; i < len(out); i++ {
		value += unzigzag(r.take(width)) << shift
		out[i] = value
	}
	return rest, true
}

func takeRuns(s []byte, value int64, shift int, out []int64) ([]byte, bool) {
	length, s, ok := takeUvarint(s)
	for i := 0; ok; {
		if length == 0 || length > uint64(len(out)-i) {
			return s, false
		}
		for range length {
			out[i] = value
			i++
		}
		if i == len(out) {
			return s, true
		}
		var step uint64
		if step, s, ok = takeUvarint(s); !ok {
			break
		}
		value += unzigzag(step>>1) << shift
		length = 1
		if step&1 != 0 {
			length, s, ok = takeUvarint(s)
		}
	}
	return s, false
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// trailing returns the number of trailing zero bits, up to the largest shift; 0 for zero.
func trailing(u uint64) int {
	if u == 0 {
		return 0
	}
	return min(bits.TrailingZeros64(u), 31)
}

func uvarintLen(u uint64) int { return (bits.Len64(u|1) + 6) / 7 }

// takeUvarint reads a number from the front of s and returns the rest.
func takeUvarint(s []byte) (u uint64, rest []byte, ok bool) {
	u, n := binary.Uvarint(s)
	if n <= 0 {
		return 0, s, false
	}
	return u, s[n:], true
}
