package bounded

import (
	"bufio"
	"io"
)

// Buffer keeps the first bytes that are written to it and drops the rest. It does not embed a
// bytes.Buffer, because io.Copy would call its ReadFrom, which has no limit.
type Buffer struct {
	kept    []byte
	limit   int
	dropped bool
}

// NewBuffer makes a Buffer that keeps up to limit bytes.
func NewBuffer(limit int) *Buffer { return &Buffer{limit: limit} }

// Write implements io.Writer. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.limit-len(b.kept))]
	b.kept = append(b.kept, kept...)
	b.dropped = b.dropped || len(kept) < len(p)
	return len(p), nil
}

// Bytes returns the kept bytes. They are valid until the next Write or Reset.
func (b *Buffer) Bytes() []byte { return b.kept }

// Dropped reports whether more was written than the limit.
func (b *Buffer) Dropped() bool { return b.dropped }

// Reset empties the buffer and keeps its memory.
func (b *Buffer) Reset() { b.kept, b.dropped = b.kept[:0], false }

// First returns the first bytes of a source, at most limit.
func First(source io.Reader, limit int) ([]byte, error) {
	return io.ReadAll(io.LimitReader(source, int64(limit)))
}

// Lines splits a source into lines. A line over the limit ends the scan with bufio.ErrTooLong.
func Lines(source io.Reader, longest int) *bufio.Scanner {
	lines := bufio.NewScanner(source)
	lines.Buffer(make([]byte, 0, min(longest, 4<<10)), longest)
	return lines
}
