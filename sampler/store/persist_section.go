package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// A section is bytes with a checksum and the version of their layout:
//
//	"vramscope" kind version length payload checksum
//	 9          4    4       8      length  4 (CRC-32C of all before it)
//
// Numbers are little-endian.

// Why a section cannot be used.
var (
	ErrVersion = errors.New("it was kept by another version")
	ErrDamaged = errors.New("what was kept is damaged")
)

const (
	sectionMagic  = "vramscope"
	sectionHeader = len(sectionMagic) + 4 + 4 + 8
	// mostSection is far more than the largest box needs.
	mostSection = 1 << 30
)

// WriteSection writes a section; kind has four letters.
func WriteSection(w io.Writer, kind string, version uint32, payload []byte) error {
	header := append(make([]byte, 0, sectionHeader), sectionMagic...)
	header = append(header, kind...)
	header = binary.LittleEndian.AppendUint32(header, version)
	header = binary.LittleEndian.AppendUint64(header, uint64(len(payload)))
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(header, table), table, payload)
	for _, part := range [][]byte{header, payload, binary.LittleEndian.AppendUint32(nil, sum)} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("section %s: %w", kind, err)
		}
	}
	return nil
}

// ReadSection reads the payload of the next section, which must be of this
// kind and version. It allocates no more than there is to read.
func ReadSection(r io.Reader, kind string, version uint32) (string, error) {
	header := make([]byte, sectionHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return "", cutShort(kind, err)
	}
	rest, ours := strings.CutPrefix(string(header), sectionMagic+kind)
	if !ours {
		return "", fmt.Errorf("section %s: %w", kind, ErrDamaged)
	}
	if binary.LittleEndian.Uint32([]byte(rest)) != version {
		return "", fmt.Errorf("section %s: %w", kind, ErrVersion)
	}
	length := binary.LittleEndian.Uint64([]byte(rest)[4:])
	if length > mostSection {
		return "", fmt.Errorf("section %s: %w", kind, ErrDamaged)
	}
	var payload strings.Builder
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, _ = sum.Write(header) // a hash never fails
	if _, err := io.CopyN(io.MultiWriter(&payload, sum), r, int64(length)); err != nil {
		return "", cutShort(kind, err)
	}
	var want [crc32.Size]byte
	if _, err := io.ReadFull(r, want[:]); err != nil {
		return "", cutShort(kind, err)
	}
	if binary.LittleEndian.Uint32(want[:]) != sum.Sum32() {
		return "", fmt.Errorf("section %s: %w", kind, ErrDamaged)
	}
	return payload.String(), nil
}

// cutShort is the error of a failed read: an end in the middle is damage.
func cutShort(kind string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("section %s: %w: it ends too early", kind, ErrDamaged)
	}
	return fmt.Errorf("section %s: %w", kind, err)
}
