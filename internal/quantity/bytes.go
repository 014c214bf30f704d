package quantity

import (
	"math"
	"strconv"
)

// Bytes is an amount of memory, or a difference of amounts, which may be negative.
type Bytes int64

// The units are binary: G on the screen is GiB.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
	TiB Bytes = 1 << 40
	PiB Bytes = 1 << 50
	EiB Bytes = 1 << 60
)

// String returns at most five cells: up to three digits and a binary unit ("842M", "9.87G", "61.8G",
// "140G", "1.18T"), "0" for zero.
func (b Bytes) String() string { return string(b.Append(nil)) }

// Append appends String to dst.
func (b Bytes) Append(dst []byte) []byte {
	if b < 0 {
		return b.magnitude(append(dst, '-'), 2)
	}
	return b.magnitude(dst, 3)
}

// magnitude formats |b|. The digits limit the decimals, which K and M never have. It takes the next
// unit if the number would need four digits.
func (b Bytes) magnitude(dst []byte, digits int) []byte {
	v := math.Abs(float64(b))
	if v < 1000 {
		if v == 0 {
			return append(dst, '0')
		}
		if digits < 3 && v >= 100 {
			return append(dst, "0.1K"...)
		}
		return append(strconv.AppendFloat(dst, v, 'f', 0, 64), 'B')
	}
	unit := byte('B')
	for _, u := range []byte("KMGTPE") {
		v /= 1024
		unit = u
		if v < 999.5 {
			break
		}
	}
	decimals := 0
	switch {
	case unit == 'K' || unit == 'M':
		// Whole KiB and MiB: "842M", "18M".
	case v < 9.995:
		decimals = digits - 1
	case v < 99.95:
		decimals = digits - 2
	}
	return append(strconv.AppendFloat(dst, v, 'f', max(decimals, 0), 64), unit)
}
