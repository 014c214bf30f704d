package recording

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"vramscope/sampler/store"
)

// block holds the ticks that are not sealed yet, with the samples of every series.
type block struct {
	times   [store.BlockTicks]int64 // ns
	n       int
	columns []*column // sorted by series ID
}

type column struct {
	series int64
	store.Block
	listed bool // has appeared in a row of the tail since the block began
	known  bool // had a value at the previous tick
	last   int64
	ended  bool // no sample follows: reset removes the series
}

// appendTail encodes the newest tick as a row of the tail. A row holds the series that are new or have
// changed since the previous row, ordered by ID. For each series it has the distance from the previous
// series ID, whether the value is known, and the difference from the series' last value.
//
//	(distance<<1 | known  [difference])*
//
// The first row of a block has every series that has not ended.
func (b *block) appendTail(dst []byte) []byte {
	before := int64(0)
	for _, c := range b.columns {
		v, known := c.At(b.n - 1)
		if c.listed && known == c.known && (!known || v == c.last) || !c.listed && c.ended {
			continue
		}
		distance := uint64(c.series-before) << 1
		before = c.series
		if known {
			dst = binary.AppendUvarint(dst, distance|1)
			dst = binary.AppendVarint(dst, v-c.last)
			c.last = v
		} else {
			dst = binary.AppendUvarint(dst, distance)
		}
		c.listed, c.known = true, known
	}
	return dst
}

type tailRow struct {
	session, time, codec int64
	data                 []byte
}

const selectTail = "SELECT session, time_ns, codec, data FROM tail ORDER BY time_ns"

func scanTail(rows *sql.Rows) (r tailRow, err error) {
	err = rows.Scan(&r.session, &r.time, &r.codec, &r.data)
	return r, err
}

var errTail = errors.New("the samples of the last minutes are malformed")

// replay adds a tick from a row of the tail. If it fails, the later rows cannot be used, because
// each row is a difference from the previous one.
func (b *block) replay(r *tailRow) error {
	data, err := content(r.codec, r.session, r.time, r.data)
	if err != nil || b.n == len(b.times) {
		return errTail
	}
	b.times[b.n] = r.time
	b.n++
	for series := int64(0); len(data) > 0; {
		head, n := binary.Uvarint(data)
		if head>>1 == 0 || head>>1 > 1<<40 { // head is also 0 if it is cut off
			return errTail
		}
		data = data[n:]
		series += int64(head >> 1)
		c := b.column(series)
		c.listed, c.known = true, head&1 != 0
		if c.known {
			difference, n := binary.Varint(data)
			if n <= 0 {
				return errTail
			}
			data = data[n:]
			c.last += difference
		}
	}
	for _, c := range b.columns {
		if c.known {
			c.Set(b.n-1, c.last)
		}
	}
	return nil
}

// column finds a series, or adds it.
func (b *block) column(series int64) *column {
	i, found := slices.BinarySearchFunc(b.columns, series, func(c *column, s int64) int { return int(c.series - s) })
	if !found {
		b.columns = slices.Insert(b.columns, i, &column{series: series})
	}
	return b.columns[i]
}

func (b *block) reset() {
	b.n = 0
	b.columns = slices.DeleteFunc(b.columns, func(c *column) bool { return c.ended })
	for _, c := range b.columns {
		c.Reset()
		c.listed, c.known, c.last = false, false, 0
	}
}

// ticks returns the times, relative to the first.
func (b *block) ticks() (times store.Block) {
	for i, t := range b.times[:b.n] {
		times.Set(i, t-b.times[0])
	}
	return times
}

// codecChecked marks data that begins with a checksum of four bytes: ticks and chunks (store.Block)
// and rows of the tail (block.appendTail). Codec 1 had no checksum.
const codecChecked = 2

// The checksum of a row covers its series or session, its time and its data. A flipped bit on the
// disk could otherwise turn samples into other plausible ones.
const checksumBytes = 4

func checksum(of, at int64, data []byte) uint32 {
	polynomial := crc32.MakeTable(crc32.Castagnoli) // built on first use, to keep startup short
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:8], uint64(of))
	binary.LittleEndian.PutUint64(key[8:], uint64(at))
	return crc32.Update(crc32.Checksum(key[:], polynomial), polynomial, data)
}

// checked writes the checksum into the first checksumBytes of data.
func checked(of, at int64, data []byte) []byte {
	binary.LittleEndian.PutUint32(data, checksum(of, at, data[checksumBytes:]))
	return data
}

var errChecksum = errors.New("samples are malformed: their checksum is wrong")

// content returns a row's data without its checksum, or errChecksum.
func content(codec, of, at int64, data []byte) ([]byte, error) {
	switch {
	case codec != codecChecked || len(data) < checksumBytes:
		return nil, errChecksum
	case binary.LittleEndian.Uint32(data) != checksum(of, at, data[checksumBytes:]):
		return nil, errChecksum
	}
	return data[checksumBytes:], nil
}

// appendChunk encodes the samples of a series, or the times of a session.
func appendChunk(dst []byte, of, from int64, b *store.Block) []byte {
	return checked(of, from, b.Append(append(dst, make([]byte, checksumBytes)...)))
}

// decodeChunk is the inverse of appendChunk. If it fails, the block is empty.
func decodeChunk(b *store.Block, codec, of, from int64, data []byte) error {
	data, err := content(codec, of, from, data)
	if err != nil {
		b.Reset()
		return err
	}
	if !b.Decode(data) {
		return errChecksum
	}
	return nil
}

func decodeTicks(codec, session, from int64, data []byte) ([]int64, error) {
	var block store.Block
	if err := decodeChunk(&block, codec, session, from, data); err != nil {
		return nil, err
	}
	times := make([]int64, 0, block.Count())
	for i := range store.BlockTicks {
		if t, ok := block.At(i); ok {
			times = append(times, from+t)
		}
	}
	return times, nil
}
