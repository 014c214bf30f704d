package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The commands of the protocol.
const (
	cmdHello    = "hello"
	cmdStats    = "stats"
	cmdFlush    = "flush"
	cmdSnapshot = "snapshot"
	cmdBye      = "bye"
)

// Code says in one word why a request was not done. A code that a monitor
// does not know is treated as Internal.
type Code string

// The codes.
const (
	BadRequest     Code = "bad_request"     // not a JSON object, or a field has an impossible value
	UnknownCommand Code = "unknown_command" // this server has no such command
	Unsupported    Code = "unsupported"     // it has the command, but nothing it could do for it
	WrongVersion   Code = "wrong_version"   // the major versions differ
	Forbidden      Code = "forbidden"       // another user's
	Busy           Code = "busy"            // a flush or a snapshot is under way, or too many connections
	RateLimited    Code = "rate_limited"    // too many flushes
	Internal       Code = "internal"        // the probe itself failed
)

// Error is a server's answer to a request that it did not fulfil.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func failure(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// request is what every line from a monitor has. The fields of a flush stand
// beside these, not below a key of their own.
type request struct {
	ID    *uint64 `json:"id"`
	Cmd   string  `json:"cmd"`
	Proto string  `json:"proto,omitempty"` // in hello: the monitor's version
}

// fields is a request as it comes. A map takes keys as they are written,
// where a struct would take "CMD" for "cmd".
type fields map[string]json.RawMessage

// take reads a field if it is there.
func (f fields) take(name string, into any) error {
	value, ok := f[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(value, into); err != nil {
		return failure(BadRequest, "%s: %v", name, err)
	}
	return nil
}

// id is nil where there is none that can be echoed.
func (f fields) id() *uint64 {
	id, err := strconv.ParseUint(string(f["id"]), 10, 64)
	if err != nil || id > maxCount {
		return nil
	}
	return &id
}

// flush reads the fields of a flush.
func (f fields) flush() (FlushRequest, error) {
	var r FlushRequest
	err := cmp.Or(
		f.take("level", &r.Level),
		f.take("keep_bytes", &r.KeepBytes),
		f.take("dry_run", &r.DryRun),
		f.take("devices", &r.Devices),
	)
	return r, err
}

// snapshot reads the fields of a snapshot.
func (f fields) snapshot() (SnapshotRequest, error) {
	var r SnapshotRequest
	err := cmp.Or(f.take("format", &r.Format), f.take("devices", &r.Devices))
	return r, err
}

// reply is what every line from a probe has. ID is null where the request's
// could not be read.
type reply struct {
	ID    *uint64 `json:"id"`
	OK    bool    `json:"ok"`
	Error *Error  `json:"error,omitempty"`
}

// The lines with an answer of their own.
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
)

var (
	errNotUTF8        = errors.New("not UTF-8")
	errTooManyMembers = fmt.Errorf("more than %d members in one line", maxMembers)
	errNoObject       = errors.New("not a JSON object")
)

// decode parses one line. More than maxMembers commas are refused before
// anything is built from them: two bytes of "[],[],[]" would become a hundred
// in memory.
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

// sameMajor reports whether a peer of that version can be talked to:
// "vramscope/1" and "vramscope/1.4" can.
func sameMajor(version string) bool {
	return version == Version || strings.HasPrefix(version, Version+".")
}
