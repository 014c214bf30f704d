//go:build linux

package preload_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRescueAfterItsOwnCache: a process that may have a cache asks for a rescue only when an
// allocation fails again.
func TestRescueAfterItsOwnCache(t *testing.T) {
	t.Parallel()
	r := newRescuer(t, nil).listen()
	p := r.refusing()
	p.expect("async 4096", "1×0") // its pool may cache
	p.expect(alloc("alloc"), outOfMemory)
	asks(t, r, 0)
	p.expect(alloc("alloc"), "1×0")
	asks(t, r, 1)
}

// python starts the program under a name that suggests a cache of its own.
func (r *rescuer) python() *run {
	r.Helper()
	path := filepath.Join(r.TempDir(), "python-refused")
	if err := os.Symlink(r.program(), path); err != nil {
		r.Fatal(err)
	}
	p := r.startIn(append(r.environ, "LD_PRELOAD="+r.library), path)
	p.socket()
	return p
}

// TestRescueOfAStream: the driver uses up a pool's free memory before it refuses, so the first refusal
// asks for a rescue. A refusal of the first memory for a pool of the program's own does not: it may be
// a preallocation, which the program can do without.
func TestRescueOfAStream(t *testing.T) {
	t.Parallel()
	r := newRescuer(t, nil).listen()
	p := r.python()
	p.expect(alloc("pool", 3), "3×2")
	asks(t, r, 0)
	p.expect("async 4096", "1×0")
	p.expect(alloc("async"), "1×0")
	asks(t, r, 1)

	r = newRescuer(t, nil).listen()
	p = r.python()
	p.expect("pool 4096", "1×0")
	p.expect(alloc("pool"), "1×0")
	asks(t, r, 1)
}

// TestRescueOfTheSmallest: a library tries smaller and smaller sizes, and gets none. If it tries all
// of them again, the probe asks for the smallest.
func TestRescueOfTheSmallest(t *testing.T) {
	t.Parallel()
	r := newRescuer(t, nil).listen()
	p := r.python()
	try := func(from, to uint64, last string) {
		t.Helper()
		for size := from; size > to; size = size / 10 * 9 {
			p.expect(fmt.Sprintf("alloc %d", size), outOfMemory)
		}
		p.expect(fmt.Sprintf("alloc %d", to), last)
	}
	try(64<<30, tight, "1×0") // a preallocation
	p.expect("release", "1×0")
	try(64<<30, wanted, outOfMemory)
	asks(t, r, 0)
	try(64<<30, wanted, "1×0")
	asks(t, r, 1)
	if !strings.Contains(r.asked[0], fmt.Sprintf(`"bytes":%d}`, uint64(wanted))) {
		t.Errorf("it asks %s", r.asked[0])
	}
}

// TestRescuePieceByPiece: for a program that puts memory together from pieces, the probe asks the
// daemon for more each time. If the daemon refuses, the probe asks for one piece.
func TestRescuePieceByPiece(t *testing.T) {
	t.Parallel()
	const piece = 20 << 20
	var small []*run // neighbours
	var refused bool
	r := newRescuer(t, func(r *rescuer, conn net.Conn) {
		answer := `{"id":1,"ok":true}`
		switch {
		case len(small) > 0:
			small[0].do("release")
			small = small[1:]
		case !refused:
			answer, refused = `{"id":1,"ok":false}`, true
		default:
			r.release()
		}
		_, _ = io.WriteString(conn, answer+"\n") // the program may be gone
	}).listen()
	p := r.python()
	for range 2 {
		neighbour := r.startIn(r.environ, r.program())
		neighbour.expect(fmt.Sprintf("alloc %d", 5*piece), "1×0")
		small = append(small, neighbour)
	}
	p.expect(fmt.Sprintf("create %d 200", piece), "199×0 1×2") // the first failure
	var asked []string
	for _, request := range r.asked {
		_, bytes, _ := strings.Cut(request, `"bytes":`)
		asked = append(asked, strings.Trim(bytes, "}"))
	}
	if got, want := strings.Join(asked, " "), fmt.Sprint(piece, 4*piece, 16*piece, piece); got != want {
		t.Errorf("it asks for %s, want %s", got, want)
	}
}
