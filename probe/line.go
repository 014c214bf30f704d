package probe

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line of the protocol in bytes, its newline included.
const MaxLine = 256 << 10

const (
	firstBuffer = 4 << 10
	// A buffer that a long line made larger than this is dropped after it.
	keptBuffer = 16 << 10
)

var (
	errLongLine   = errors.New("line of more than 256 KiB")
	errEmptyLines = errors.New("more than 256 KiB of empty lines")
)

// lines splits a stream into lines. A partly read line is kept when a read fails,
// so that the rest can be read after a deadline.
type lines struct {
	source io.Reader
	buffer []byte
	start  int // of the bytes not yet returned
	end    int
	seen   int // there is no newline before it
}

// next returns the next line without its newline, valid until the next call. It
// skips empty lines, at most MaxLine bytes of them: a flood would keep the reader
// busy until its deadline. A stream that ends within a line returns
// io.ErrUnexpectedEOF.
func (l *lines) next() ([]byte, error) {
	for skipped := 0; ; {
		if at := bytes.IndexByte(l.buffer[l.seen:l.end], '\n'); at >= 0 {
			line := l.buffer[l.start : l.seen+at]
			l.start = l.seen + at + 1
			l.seen = l.start
			if len(line) >= MaxLine {
				return nil, errLongLine
			}
			if len(bytes.TrimSpace(line)) == 0 {
				if skipped += len(line) + 1; skipped >= MaxLine {
					return nil, errEmptyLines
				}
				continue
			}
			return line, nil
		}
		l.seen = l.end
		if l.end-l.start >= MaxLine {
			return nil, errLongLine
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// partial reports whether part of a line has been read.
func (l *lines) partial() bool { return l.end > l.start }

// fill makes room and reads once.
func (l *lines) fill() error {
	held := l.end - l.start
	switch {
	case held == 0 && (l.buffer == nil || len(l.buffer) > keptBuffer):
		l.buffer = make([]byte, firstBuffer)
	case l.end == len(l.buffer) && held > len(l.buffer)/2:
		grown := make([]byte, min(2*len(l.buffer), MaxLine))
		copy(grown, l.buffer[l.start:l.end])
		l.buffer = grown
	default:
		copy(l.buffer, l.buffer[l.start:l.end])
	}
	l.start, l.end, l.seen = 0, held, held
	n, err := l.source.Read(l.buffer[held:])
	l.end += n
	switch {
	case n > 0:
		return nil // the next read returns the error again
	case err == nil:
		return io.ErrNoProgress
	case errors.Is(err, io.EOF) && held > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}
