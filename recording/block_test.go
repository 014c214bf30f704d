package recording

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// TestMalformedTailIsRefused: a row is malformed if it is cut off, names no series or an impossible one,
// or does not fit in the block.
func TestMalformedTailIsRefused(t *testing.T) {
	row := func(series uint64) []byte { return append(binary.AppendUvarint(nil, series<<1|1), 5) }
	for name, c := range map[string]struct {
		data   []byte
		before int // rows
		want   bool
	}{
		"a series":              {row(1), 0, true},
		"the last series":       {row(1 << 40), 0, true},
		"one after it":          {row(1<<40 + 1), 0, false},
		"no series":             {row(0), 0, false},
		"nothing has changed":   {nil, 0, true},
		"no longer known":       {[]byte{2}, 0, true},
		"a head that is cut":    {[]byte{0x80}, 0, false},
		"no difference":         {row(1)[:1], 0, false},
		"a difference too long": {append(row(1)[:1], 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), 0, false},
		"the last of a block":   {row(1), len(block{}.times) - 1, true},
		"one more":              {row(1), len(block{}.times), false},
	} {
		b := &block{n: c.before}
		if err := b.replay(&tailRow{codec: codecChecked, data: checked(0, 0, append(make([]byte, checksumBytes), c.data...))}); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTailHasChangesOnly: a row of the tail has a series only if it is new or has changed.
func TestTailHasChangesOnly(t *testing.T) {
	c := &column{series: 1}
	b := block{columns: []*column{c}}
	for tick, want := range [][]byte{{3, 10}, nil, {2}, nil, {3, 0}, {3, 2}} {
		b.n++
		if v := []int64{5, 5, -1, -1, 5, 6}[tick]; v >= 0 {
			c.Set(tick, v)
		}
		if got := b.appendTail(nil); !bytes.Equal(got, want) {
			t.Errorf("tick %d: %v, want %v", tick, got, want)
		}
	}
}

// TestChecksumIsOfEachRow: a row without data has a checksum too, which covers its series and time.
func TestChecksumIsOfEachRow(t *testing.T) {
	for _, data := range [][]byte{{}, {1, 2, 3}} {
		row := checked(7, 9, append(make([]byte, checksumBytes), data...))
		if got, err := content(codecChecked, 7, 9, row); err != nil || string(got) != string(data) {
			t.Errorf("%v: %v, %v", data, got, err)
		}
		for _, c := range []struct {
			codec, of, at int64
			row           []byte
		}{{codecChecked, 8, 9, row}, {codecChecked, 7, 8, row}, {codecChecked, 7, 9, row[:checksumBytes-1]}, {codecChecked, 7, 9, nil}, {3, 7, 9, row}} {
			if _, err := content(c.codec, c.of, c.at, c.row); err == nil {
				t.Errorf("%+v is taken", c)
			}
		}
	}
}
