package store

import (
	"encoding/binary"
	"math/bits"
)

// A sealed block is a frame:
//
//	kind length payload
//	payload = [presence] column+
//
// The columns have the present values only. A block without values has no payload.
const (
	presentAll    = iota // every place has a value
	presentSpan          // two bytes: the first place and the number of places
	presentBitmap        // a bit for each place

	presence = 3 // mask of the bits of the constants above
	single   = 8 // only the first column is stored; the others are zero
)

// frame is a sealed block, not yet decoded.
type frame struct {
	kind    byte
	payload []byte
}

// appendPayload encodes the values of a block. m marks the places with a value. Each column has
// m.count values, at least one.
func appendPayload(dst []byte, m *mask, columns ...[]int64) (payload []byte, kind byte) {
	first, count, whole := m.span()
	switch {
	case count == blockPlaces:
		kind = presentAll
	case whole:
		kind = presentSpan
		dst = append(dst, byte(first), byte(count))
	default:
		kind = presentBitmap
		dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, m[0]), m[1])
	}
	dst = appendColumn(dst, columns[0])
	if len(columns) > 1 && allZero(columns[1:]) {
		return dst, kind | single
	}
	for _, column := range columns[1:] {
		dst = appendColumn(dst, column)
	}
	return dst, kind
}

// decode fills m, and sets the first count values of each column. A column has room for 128 values.
// decode returns false for an invalid payload.
func (f *frame) decode(m *mask, columns ...[]int64) (count int, ok bool) {
	s := f.payload
	*m = mask{}
	if len(s) == 0 {
		return 0, true
	}
	switch f.kind & presence {
	case presentAll:
		m.fill(0, blockPlaces)
	case presentSpan:
		if len(s) < 2 || int(s[0])+int(s[1]) > blockPlaces {
			return 0, false
		}
		m.fill(int(s[0]), int(s[1]))
		s = s[2:]
	case presentBitmap:
		if len(s) < blockPlaces/8 {
			return 0, false
		}
		m[0], m[1] = binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
		s = s[blockPlaces/8:]
	default:
		return 0, false
	}
	count = m.count()
	for i, column := range columns {
		if i > 0 && f.kind&single != 0 {
			clear(column[:count])
			continue
		}
		if s, ok = takeColumn(s, column[:count]); !ok {
			return 0, false
		}
	}
	return count, true
}

func allZero(columns [][]int64) bool {
	for _, column := range columns {
		for _, v := range column {
			if v != 0 {
				return false
			}
		}
	}
	return true
}

func appendFrame(dst []byte, f frame) []byte {
	dst = binary.AppendUvarint(append(dst, f.kind), uint64(len(f.payload)))
	return append(dst, f.payload...)
}

// takeFrame returns the frame at the front of s, and the rest of s.
func takeFrame(s []byte) (f frame, rest []byte, ok bool) {
	if len(s) == 0 {
		return f, s, false
	}
	f.kind = s[0]
	length, s, ok := takeUvarint(s[1:])
	if !ok || length > uint64(len(s)) {
		return f, s, false
	}
	f.payload = s[:length]
	return f, s[length:], true
}

// span returns the first place with a value, the number of values, and whether they are adjacent.
func (m *mask) span() (first, count int, whole bool) {
	count = m.count()
	first = bits.TrailingZeros64(m[0])
	if m[0] == 0 {
		first = 64 + bits.TrailingZeros64(m[1])
	}
	var same mask
	if first+count <= blockPlaces {
		same.fill(first, count)
	}
	return first, count, same == *m
}

func (m *mask) count() int { return bits.OnesCount64(m[0]) + bits.OnesCount64(m[1]) }

// fill sets count bits, starting at first.
func (m *mask) fill(first, count int) {
	m[0] |= ones(first+count) &^ ones(first)
	m[1] |= ones(first+count-64) &^ ones(first-64)
}

// ones returns a number whose lowest n bits are set, at most 64; 0 for a negative n.
func ones(n int) uint64 {
	if n <= 0 {
		return 0
	}
	return 1<<n - 1 // all 64 bits if n is larger: Go shifts the 1 out
}
