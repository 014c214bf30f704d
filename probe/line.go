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
	// A buffer that one long line made larger than this is given back after it.
	keptBuffer = 16 << 10
)

var (
	errLongLine   = errors.New("line of more than 256 KiB")
	errEmptyLines = errors.New("more than 256 KiB of empty lines")
)

// lines splits a stream into lines. It knows nothing of their content. What
// has been read of a line stays when a read fails, so that after a deadline
// the rest can be waited for.
type lines struct {
	source io.Reader
	buffer []byte
	start  int // of what has not been handed out yet
	end    int
	seen   int // up to here there is no newline
}

// next returns the next line without its newline; empty lines are passed
// over, a line's length of them at most: a flood of them would keep the reader
// busy until its deadline. It is valid until the next call. A stream that ends
// within a line gives io.ErrUnexpectedEOF.
func (l *lines) next() ([]byte, error) {
	for passed := 0; ; {
		if at := bytes.IndexByte(l.buffer[l.seen:l.end], '\n'); at >= 0 {
			line := l.buffer[l.start : l.seen+at]
			l.start = l.seen + at + 1
			l.seen = l.start
			if len(line) >= MaxLine {
				return nil, errLongLine
			}
			if len(bytes.TrimSpace(line)) == 0 {
				if passed += len(line) + 1; passed >= MaxLine {
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

// partial reports whether a line has begun and not ended.
func (l *lines) partial() bool { return l.end > l.start }

// fill reads once, after making room.
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
		return nil // an error comes again with the next read
	case err == nil:
		return io.ErrNoProgress
	case errors.Is(err, io.EOF) && held > 0:
		return io.ErrUnexpectedEOF
	}
	return err
}
