package bounded

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'y'
	}
	return len(p), nil
}

// trickling returns one byte at a time.
type trickling struct{ endless }

func (t *trickling) Read(p []byte) (int, error) { return t.endless.Read(p[:min(len(p), 1)]) }

const limit = 1000

// TestSourcesAreBounded: First returns at most limit bytes of any source, and Lines no line of more than limit bytes.
func TestSourcesAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		source io.Reader
		want   string
		err    error
	}{
		"endless":   {&endless{}, "", bufio.ErrTooLong},
		"trickling": {&trickling{}, "", bufio.ErrTooLong},
		"silent":    {strings.NewReader(""), "", nil},
		"lines":     {strings.NewReader("a\nb"), "ab", nil},
		"too long":  {strings.NewReader("a\n" + strings.Repeat("y", limit+1)), "a", bufio.ErrTooLong},
	} {
		lines, got := Lines(c.source, limit), ""
		for lines.Scan() {
			got += lines.Text()
		}
		if got != c.want || !errors.Is(lines.Err(), c.err) {
			t.Errorf("%s: Lines: %q, %v", name, got, lines.Err())
		}
	}
	for name, c := range map[string]struct {
		source io.Reader
		bytes  int
	}{
		"endless": {&endless{}, limit}, "trickling": {&trickling{}, limit}, "silent": {strings.NewReader(""), 0},
		"short": {strings.NewReader("short"), 5}, "longer": {strings.NewReader(strings.Repeat("y", limit+1)), limit},
	} {
		if content, err := First(c.source, limit); err != nil || len(content) != c.bytes {
			t.Errorf("%s: First: %d bytes, %v", name, len(content), err)
		}
	}
}

// TestBufferIsBoundedUnderCopy: a Buffer has no ReadFrom, which io.Copy would use.
func TestBufferIsBoundedUnderCopy(t *testing.T) {
	for name, source := range map[string]io.Reader{"endless": &endless{}, "trickling": &trickling{}} {
		b := NewBuffer(limit)
		if n, err := io.Copy(b, io.LimitReader(source, 1<<20)); n != 1<<20 || err != nil {
			t.Errorf("%s: %d bytes are taken: %v", name, n, err)
		}
		if len(b.Bytes()) != limit || cap(b.Bytes()) > 4*limit || !b.Dropped() {
			t.Errorf("%s: it keeps %d bytes of %d", name, len(b.Bytes()), cap(b.Bytes()))
		}
		if b.Reset(); len(b.Bytes()) != 0 || b.Dropped() {
			t.Errorf("%s: after a Reset: %d bytes", name, len(b.Bytes()))
		}
	}
}

// TestCommandsAreBounded: a command's output and time are limited, and so is the memory that Output
// allocates. A child in the command's process group is killed with the command.
func TestCommandsAreBounded(t *testing.T) {
	pid := t.TempDir() + "/pid"
	for name, c := range map[string]struct {
		script, output, err string
	}{
		"endless":   {"echo begun; yes", "begun\ny\ny\n", "it did not end in"},
		"silent":    {"echo begun; sleep 1000", "begun\n", "it did not end in"},
		"trickling": {"echo begun; while :; do echo y; sleep .05; done", "begun\n", "it did not end in"},
		"outliving": {"sleep 1000 & echo $! >" + pid + "; echo begun; wait", "begun\n", "it did not end in"},
		"leaving":   {"setsid sleep 3 & echo begun", "begun\n", ""},
		"failing":   {"echo begun; exit 3", "begun\n", "exit status 3"},
		"input":     {"cat; echo error >&2", "begun\nerror\n", ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var output []byte
		var err error
		took := time.Duration(0)
		// On a loaded machine, a script may not get as far as its first line.
		for limitTime := 300 * time.Millisecond; len(output) == 0 && limitTime < time.Minute; limitTime *= 2 {
			command := Command{Path: "/bin/sh", Arguments: []string{"-c", c.script}, Environ: os.Environ(), Input: []byte("begun\n"), Time: limitTime, Limit: limit}
			if c.err != "it did not end in" {
				command.Time = time.Minute
			}
			began := time.Now()
			output, err = command.Output(t.Context())
			took = time.Since(began) - command.Time
		}
		runtime.ReadMemStats(&after)
		if !strings.HasPrefix(string(output), c.output) || len(output) > limit {
			t.Errorf("%s: printed %d bytes: %.60q", name, len(output), output)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if took > 10*time.Second || after.TotalAlloc-before.TotalAlloc > 20<<20 {
			t.Errorf("%s: %s too long, %d MB", name, took, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
	content, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	child := strings.TrimSpace(string(content))
	gone := func() bool {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}
	for deadline := time.Now().Add(time.Minute); !gone(); time.Sleep(time.Millisecond) {
		if _, err := strconv.Atoi(child); err != nil || time.Now().After(deadline) {
			t.Fatalf("the child %q lives", child)
		}
	}
}

func TestCommandEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	command := Command{Path: "/bin/sh", Arguments: []string{"-c", "yes"}, Time: time.Hour, Limit: limit}
	if _, err := command.Output(ctx); !errors.Is(err, context.Canceled) || time.Since(began) > 30*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
