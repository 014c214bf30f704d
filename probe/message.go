package probe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	cmdHello    = "hello"
	cmdStats    = "stats"
	cmdFlush    = "flush"
	cmdSnapshot = "snapshot"
	cmdHolds    = "holds"
	cmdBye      = "bye"
)

// Code says why a request failed.
type Code string

// The codes.
const (
	BadRequest     Code = "bad_request"     // not a JSON object, or a field has an impossible value
	UnknownCommand Code = "unknown_command" // this server does not know the command
	Unsupported    Code = "unsupported"     // this server has the command, but cannot execute it here
	WrongVersion   Code = "wrong_version"   // the major versions differ
	Forbidden      Code = "forbidden"       // the process belongs to another user
	Busy           Code = "busy"            // a request like this one or an allocation is in progress, or there are too many connections
	RateLimited    Code = "rate_limited"    // too many flushes, maps or searches for holders
	Internal       Code = "internal"        // the probe itself failed
)

// Error is a server's answer to a request that failed.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func failure(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// request is a line from a monitor. The questions in client.go add fields.
type request struct {
	ID    *uint64 `json:"id"`
	Cmd   string  `json:"cmd"`
	Proto string  `json:"proto,omitempty"` // in hello: the monitor's version
	Fresh bool    `json:"fresh,omitempty"` // in stats: take a new reading, do not repeat an earlier one
}

func (r *request) head() *request { return r }

// reply holds the fields of every line from a probe. ID is nil if the line answers no request, or if
// the request's ID could not be read.
type reply struct {
	ID    *uint64 `json:"id"`
	OK    bool    `json:"ok"`
	Last  bool    `json:"last,omitempty"` // unasked stats, sent when the program exits
	Error *Error  `json:"error,omitempty"`
}

func (r *reply) head() *reply { return r }

// response is a *reply, or one of the types below.
type response interface{ head() *reply }

// The answers that have fields of their own.
type (
	helloLine struct {
		reply
		Hello
	}
	statsLine struct {
		reply
		Report
	}
	flushedLine struct {
		reply
		FlushResult
	}
	snapshotLine struct {
		reply
		SnapshotResult
	}
	holdsLine struct {
		reply
		Holds
	}
)

func encode(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	line = append(line, '\n')
	if len(line) > MaxLine {
		return nil, fmt.Errorf("encode: %w", errLongLine)
	}
	return line, nil
}

var (
	errNotUTF8        = errors.New("not UTF-8")
	errTooManyMembers = fmt.Errorf("more than %d members in one line", maxMembers)
	errNoObject       = errors.New("not a JSON object")
)

// decode parses one line. It refuses more than maxMembers commas: decoded, a text like "{},{},{}"
// takes many times its length in memory.
func decode(line []byte, into any) error {
	if !utf8.Valid(line) {
		return errNotUTF8
	}
	if bytes.Count(line, []byte{','}) > maxMembers {
		return errTooManyMembers
	}
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t\r"), []byte{'{'}) {
		return errNoObject
	}
	return json.Unmarshal(line, into)
}

const maxMembers = 16 << 10

// sameMajor reports whether a version is compatible: "vramscope/1" and "vramscope/1.4" are.
func sameMajor(version string) bool {
	return version == Version || strings.HasPrefix(version, Version+".")
}

// MaxLine is the longest line of the protocol in bytes, its newline included.
const MaxLine = 256 << 10

var (
	errLongLine   = errors.New("line of more than 256 KiB")
	errEmptyLines = errors.New("more than 256 KiB of empty lines")
)

type lines struct {
	source *bufio.Reader
	begun  []byte // the start of a line; the rest can be read after a deadline
}

func newLines(source io.Reader) *lines { return &lines{source: bufio.NewReader(source)} }

// next returns the next line without its newline, valid until the next call. It skips empty lines,
// at most MaxLine bytes of them: a flood would keep the reader busy until its deadline. A stream
// that ends within a line returns io.ErrUnexpectedEOF.
func (l *lines) next() ([]byte, error) {
	for skipped := 0; ; {
		line, err := l.source.ReadSlice('\n')
		if err != nil || len(l.begun) > 0 {
			l.begun = append(l.begun, line...)
			line = l.begun
		}
		switch {
		case len(line) > MaxLine, len(line) == MaxLine && err != nil:
			return nil, errLongLine
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		l.begun = nil // a long line's memory is freed
		if len(bytes.TrimSpace(line)) > 0 {
			return line[:len(line)-1], nil
		}
		if skipped += len(line); skipped >= MaxLine {
			return nil, errEmptyLines
		}
	}
}
