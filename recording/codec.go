package recording

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"vramscope/sampler/store"
)

// The codecs of ticks, chunks and tail.
const (
	codecPlain   = 1 // store.Block; tail: block.appendTail
	codecChecked = 2 // the same behind a checksum, four bytes
)

// A bit that a disk flips can turn samples into others that look as good. The
// checksum is of the row: whose samples they are (a series, a session), the moment,
// the data.
const checksumBytes = 4

func checksum(of, at int64, data []byte) uint32 {
	polynomial := crc32.MakeTable(crc32.Castagnoli) // made once, here: making it takes longer than most commands' start
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:8], uint64(of))
	binary.LittleEndian.PutUint64(key[8:], uint64(at))
	return crc32.Update(crc32.Checksum(key[:], polynomial), polynomial, data)
}

// checked makes data that was appended behind checksumBytes a row's.
func checked(of, at int64, data []byte) []byte {
	binary.LittleEndian.PutUint32(data, checksum(of, at, data[checksumBytes:]))
	return data
}

// errChecksum is damage that SQLite does not see.
var errChecksum = errors.New("samples are malformed: their checksum is wrong")

// content is a row's data without its checksum.
func content(codec, of, at int64, data []byte) ([]byte, error) {
	switch {
	case codec == codecPlain:
		return data, nil
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

// decodeChunk is the reverse. Where it fails the block is empty.
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

// decodeTicks are the moments of a block's ticks.
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
