package store

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// maxColumn is the largest size of a column in bytes: the first byte, the least value, the width, and
// 128 numbers packed at full width.
const maxColumn = 1 + binary.MaxVarintLen64 + 1 + blockPlaces*8

const mib = 1 << 20

func TestColumnsRoundTripAndAreSmall(t *testing.T) {
	steps := make([]int64, blockPlaces)
	slope := make([]int64, blockPlaces)
	noise := make([]int64, blockPlaces)
	extremes := make([]int64, blockPlaces)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range steps {
		steps[i] = 40<<30 + int64(i/40)*20*mib
		slope[i] = 40<<30 + int64(i)*26*mib + random.Int64N(3)*2*mib
		noise[i] = 9800 + random.Int64N(400)
		extremes[i] = []int64{math.MinInt64, math.MaxInt64, 0, -1, 1}[random.IntN(5)]
	}
	for _, tc := range []struct {
		name   string
		values []int64
		most   int // bytes
	}{
		{"flat", slices.Repeat([]int64{70 << 30}, blockPlaces), 4},
		{"zero", make([]int64, blockPlaces), 2},
		{"one value", []int64{-7}, 2},
		{"steps", steps, 20},
		{"slope", slope, 16*6 + 10},
		{"noise", noise, 16*9 + 10},
		{"extremes", extremes, maxColumn},
	} {
		encoded := appendColumn(nil, tc.values)
		if len(encoded) > tc.most {
			t.Errorf("%s: %d bytes, want at most %d", tc.name, len(encoded), tc.most)
		}
		got := make([]int64, len(tc.values))
		rest, ok := takeColumn(append(encoded, "rest"...), got)
		if !ok || string(rest) != "rest" || !slices.Equal(got, tc.values) {
			t.Errorf("%s: decoded %v, %q, %v", tc.name, got, rest, ok)
		}
	}
}

// numbers turns fuzzed bytes into numbers. Nine bytes make any number. One byte makes a small change
// or a run, to reach all encodings.
func numbers(data []byte, most int) []int64 {
	var values []int64
	var v int64
	for len(data) > 0 && len(values) < most {
		switch op := data[0]; {
		case op == 255 && len(data) > 8:
			v = int64(binary.LittleEndian.Uint64(data[1:]))
			data = data[8:]
		case op >= 200:
			v += int64(op-220) << 21
		case op >= 100:
			v += int64(op) - 150
		default:
			for range op % 16 {
				if len(values) < most-1 {
					values = append(values, v)
				}
			}
		}
		values = append(values, v)
		data = data[1:]
	}
	return values
}

func FuzzColumnSurvives(f *testing.F) {
	f.Add([]byte{0, 15, 210, 15, 255, 1, 2, 3, 4, 5, 6, 7, 128, 9})
	f.Add([]byte{101, 180, 120, 199, 100, 133, 150, 151, 152, 149})
	f.Fuzz(func(t *testing.T, data []byte) {
		values := numbers(data, blockPlaces)
		if len(values) == 0 {
			return
		}
		encoded := appendColumn(nil, values)
		if len(encoded) > maxColumn {
			t.Fatalf("%d bytes for %d numbers", len(encoded), len(values))
		}
		got := make([]int64, len(values))
		rest, ok := takeColumn(encoded, got)
		if !ok || len(rest) > 0 || !slices.Equal(got, values) {
			t.Fatalf("%v became %v, rest %q, %v", values, got, rest, ok)
		}
	})
}

func FuzzBlocksOfBucketsSurvive(f *testing.F) {
	f.Add([]byte{0, 15, 210, 15, 255, 1, 2, 3, 4, 5, 6, 7, 128, 9}, uint64(math.MaxUint64), uint64(math.MaxUint64))
	f.Add([]byte{255, 0, 0, 0, 0, 0, 0, 0, 128, 255, 255, 255, 255, 255, 255, 255, 255, 127}, uint64(0x70), uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, present, more uint64) {
		b := bucketBlock{present: mask{present, more}}
		if b.present.count() == 0 {
			return
		}
		values := numbers(data, 3*blockPlaces)
		for i := range b.values {
			if b.present.has(i) && len(values) >= 3 {
				low, high := min(values[0], values[1], values[2]), max(values[0], values[1], values[2])
				b.values[i] = extent{low, high, values[0]}
				values = values[3:]
			}
		}
		frame := b.encode(nil)
		var got bucketBlock
		if !got.decode(frame) || got.present != b.present || got.values != b.values {
			t.Fatalf("%v %v became %v %v", b.present, b.values, got.present, got.values)
		}
	})
}

func FuzzDecodeTakesAnyBytes(f *testing.F) {
	f.Add("\x00\x02\x00\x00")
	f.Add("\x02\x05\x09\x00\x10\x02\xff")
	f.Add(string(appendColumn(nil, []int64{1, math.MaxInt64, -5})))
	f.Fuzz(func(t *testing.T, s string) {
		c := blocks{data: []byte(s)}
		var m mask
		var values [blockPlaces]int64
		var b bucketBlock
		c.each(0, math.MaxInt64, func(_ int64, f frame) {
			if n, ok := f.decode(&m, values[:]); ok && n != m.count() {
				t.Errorf("%d values, %d present", n, m.count())
			}
			b.decode(f)
		})
		takeColumn([]byte(s), values[:])
	})
}
