package probetest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

type vectors struct {
	About string
	Cases []vector
}

type vector struct {
	Name  string
	Needs string
	Lacks string
	Steps []step
}

type step struct {
	Send     *string
	Base64   string
	Parts    []string
	Together []string
	Padded   int
	Times    int
	File     bool
	Readonly bool `json:"readonly_file"`
	Expect   any
	Some     any
	Closed   bool
}

const (
	maxLine = 256 << 10
	timeout = 10 * time.Second
)

// Run runs all vectors of a directory against the server at socket.
func Run(t *testing.T, directory, socket string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in %s: %v", directory, err)
	}
	able := capabilities(t, socket)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v vectors
		// A misspelled field must not pass unnoticed.
		in := json.NewDecoder(bytes.NewReader(content))
		in.DisallowUnknownFields()
		in.UseNumber()
		if err := in.Decode(&v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range v.Cases {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+c.Name, func(t *testing.T) {
				switch {
				case c.Needs != "" && !slices.Contains(able, c.Needs):
					t.Skipf("this server has no %s", c.Needs)
				case c.Lacks != "" && slices.Contains(able, c.Lacks):
					t.Skipf("this server has %s", c.Lacks)
				}
				p := connect(t, socket)
				defer p.close()
				for i := range c.Steps {
					p.step(t, &c.Steps[i])
				}
			})
		}
	}
}

func capabilities(t *testing.T, socket string) []string {
	t.Helper()
	p := connect(t, socket)
	defer p.close()
	p.write(t, []byte(`{"id":1,"cmd":"hello"}`+"\n"), nil)
	line, err := p.line()
	if err != nil {
		t.Fatalf("hello: %v", err)
	}
	var hello struct{ Capabilities []string }
	if err := json.Unmarshal(line, &hello); err != nil {
		t.Fatalf("hello: %v", err)
	}
	return hello.Capabilities
}

// peer is one connection to the server.
type peer struct {
	conn *net.UnixConn
	in   *bufio.Reader
}

func connect(t *testing.T, socket string) *peer {
	t.Helper()
	// A socket's address has at most 108 bytes. The path may have more.
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	reach := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket))
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: reach, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	return &peer{conn: conn, in: bufio.NewReaderSize(conn, maxLine+1)}
}

func (p *peer) close() { _ = p.conn.Close() }

// step sends a step's requests and checks the answers.
func (p *peer) step(t *testing.T, s *step) {
	t.Helper()
	expected := []any{s.Expect}
	if s.Together != nil {
		expected, _ = s.Expect.([]any)
		if len(expected) != len(s.Together) {
			t.Fatal("the step has different numbers of requests and expected answers")
		}
	}
	some := s.Some == nil
	for range max(1, s.Times) {
		var file *os.File
		if s.File || s.Readonly {
			file = scratch(t, s.Readonly)
		}
		p.send(t, s, file)
		for _, expect := range expected {
			answer := p.answer(t)
			if err := match(expect, answer); err != nil {
				t.Fatalf("the answer %v: %v", answer, err)
			}
			some = some || match(s.Some, answer) == nil
			if file != nil {
				filled(t, answer, file)
			}
		}
		if n := p.in.Buffered(); n > 0 {
			t.Fatalf("%d bytes follow the answer", n)
		}
	}
	if !some {
		t.Fatalf("no answer matches %v", s.Some)
	}
	if !s.Closed {
		return
	}
	if _, err := p.line(); !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		t.Fatalf("the connection is still open: %v", err)
	}
}

func (p *peer) send(t *testing.T, s *step, file *os.File) {
	t.Helper()
	switch {
	case s.Parts != nil:
		for i, part := range s.Parts {
			if i == len(s.Parts)-1 {
				part += "\n"
			}
			p.write(t, []byte(part), nil)
			time.Sleep(20 * time.Millisecond)
		}
	case s.Together != nil:
		p.write(t, []byte(strings.Join(s.Together, "\n")+"\n"), nil)
	case s.Base64 != "":
		line, err := base64.StdEncoding.DecodeString(s.Base64)
		if err != nil {
			t.Fatal(err)
		}
		p.write(t, append(line, '\n'), nil)
	case s.Send == nil:
		t.Fatal("the step sends nothing")
	case s.Padded > 0:
		start := strings.TrimSuffix(*s.Send, "}") + `,"pad":"`
		const end = "\"}\n"
		p.write(t, []byte(start+strings.Repeat("x", s.Padded-len(start)-len(end))+end), nil)
	default:
		p.write(t, []byte(*s.Send+"\n"), file)
	}
}

// write tolerates a closed connection after a line that is too long: the server need
// not read all of it.
func (p *peer) write(t *testing.T, line []byte, file *os.File) {
	t.Helper()
	if err := p.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	var err error
	if file != nil {
		_, _, err = p.conn.WriteMsgUnix(line, unix.UnixRights(int(file.Fd())), nil)
	} else {
		_, err = p.conn.Write(line)
	}
	if err != nil && (!errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) || len(line) < maxLine) {
		t.Fatalf("send: %v", err)
	}
}

var errTooLong = errors.New("a line of more than 256 KiB")

func (p *peer) line() ([]byte, error) {
	line, err := p.in.ReadSlice('\n')
	if len(line) > maxLine {
		return nil, errTooLong
	}
	return line, err
}

func (p *peer) answer(t *testing.T) map[string]any {
	t.Helper()
	line, err := p.line()
	if err != nil {
		t.Fatalf("no answer: %v (%q)", err, line)
	}
	if !utf8.Valid(line) {
		t.Fatalf("not UTF-8: %q", line)
	}
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber()
	var answer map[string]any
	if err := in.Decode(&answer); err != nil || answer == nil {
		t.Fatalf("not a JSON object: %v in %q", err, line)
	}
	if in.More() {
		t.Fatalf("more than one value in a line: %q", line)
	}
	return answer
}

// scratch returns an empty file to send, possibly open for reading only.
func scratch(t *testing.T, readonly bool) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "snapshot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if !readonly {
		return file
	}
	again, err := os.Open(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	return again
}

// filled checks that a file has the size in the answer.
func filled(t *testing.T, answer map[string]any, file *os.File) {
	t.Helper()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	size := answer["bytes"]
	if size == nil {
		size = json.Number("0")
	}
	if fmt.Sprint(info.Size()) != fmt.Sprint(size) {
		t.Errorf("the file has %d bytes, the answer says %v", info.Size(), size)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}
