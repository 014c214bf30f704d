package socket

import (
	"bufio"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

func connect(t *testing.T, directory string) *net.UnixConn {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(directory, Name), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestHostileClientsAreCutOff: a client whose request has no end, or that never reads, is cut off. Others are served.
func TestHostileClientsAreCutOff(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	endless := connect(t, directory)
	go func() { // a request without an end
		for {
			if _, err := endless.Write([]byte(strings.Repeat("x", 1<<10))); err != nil {
				return
			}
		}
	}()
	_ = endless.SetReadDeadline(time.Now().Add(time.Minute))
	answer, err := bufio.NewReader(endless).ReadString('\n')
	if err == nil && !strings.Contains(answer, "bad_request") {
		t.Errorf("an endless request is answered %q", answer)
	}
	deaf := connect(t, directory)
	_ = deaf.SetWriteDeadline(time.Now().Add(time.Minute))
	began := time.Now()
	for { // a client that never reads
		if _, err := deaf.Write([]byte(`{"id":1,"cmd":"snapshot"}` + "\n")); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a client that does not read stays connected")
			}
			break
		}
	}
	t.Logf("cut off after %s", time.Since(began))
	if _, err := Dial(t.Context(), []Place{{directory, uint32(os.Geteuid())}}); err != nil {
		t.Errorf("another client: %v", err)
	}
}

func TestClientsAreLimited(t *testing.T) {
	s := &Server{open: make(map[*net.UnixConn]uint32)}
	admit := func(uid uint32, most int) (n int) {
		for ; n < most && !s.full(uid); n++ {
			s.open[&net.UnixConn{}] = uid
		}
		return n
	}
	if n := admit(alice, 100); n != mostOfAUser {
		t.Errorf("alice has %d connections", n)
	}
	for uid := range uint32(100) {
		admit(100_000+uid, 100)
	}
	if len(s.open) != mostOthers {
		t.Errorf("others have %d", len(s.open))
	}
	if n := admit(0, 100); n != mostOwners {
		t.Errorf("root has %d", n)
	}
}

type panicking struct{ snapshot.History }

func (panicking) At(time.Time) (*snapshot.Snapshot, bool) { panic("broken") }

func TestPanicEndsAConnectionOnly(t *testing.T) {
	directory, s := serve(t, newBox(), mustShare(t, "none"))
	failed := make(chan error, 1)
	s.options.History, s.options.Failed = panicking{s.options.History}, func(err error) { failed <- err }
	conn := connect(t, directory)
	if _, err := conn.Write([]byte(`{"id":1,"cmd":"at","time_ns":1}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d bytes, %v from a request that panics", n, err)
	}
	if err := <-failed; !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
	next := connect(t, directory)
	if _, err := next.Write([]byte(`{"id":2,"cmd":"span"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(next).ReadString('\n'); err != nil || !strings.Contains(line, `"ok":true`) {
		t.Errorf("%q, %v after a panic", line, err)
	}
}
