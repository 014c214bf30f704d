package socket

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/guard"
	"vramscope/internal/process"
)

// reply returns the answer to a line that is the first of its connection.
func (s *Server) reply(line []byte, owner bool) []byte {
	c := &client{owner: owner}
	out, r := s.answer(line, c)
	if r != nil {
		out = encode(s.rescue(context.Background(), c, r))
	}
	return out
}

// fakeRescuer answers as the test wants.
type fakeRescuer struct {
	err   error
	asked chan guard.Ask
	ended chan guard.RescueOutcome
}

func (f *fakeRescuer) Rescue(_ context.Context, a guard.Ask) (guard.Room, func(guard.RescueOutcome), error) {
	f.asked <- a
	return guard.Room{Freed: 3, Free: 5}, func(r guard.RescueOutcome) { f.ended <- r }, f.err
}

// conversation is a connection to a server with a rescuer.
type conversation struct {
	*testing.T
	net.Conn
	in      *bufio.Reader
	rescuer *fakeRescuer
	younger atomic.Bool // processes seem to have started after the connection
}

func converse(t *testing.T, rescuer *fakeRescuer) *conversation {
	t.Helper()
	rescuer.asked, rescuer.ended = make(chan guard.Ask, 9), make(chan guard.RescueOutcome, 9)
	b := newBox()
	directory := t.TempDir()
	table := process.NewTable("/proc")
	c := &conversation{T: t, rescuer: rescuer}
	identify := func(pid int) (process.Identity, error) {
		id, err := table.Identify(pid)
		if c.younger.Load() {
			id.StartTime = process.Ticks() + 1
		}
		return id, err
	}
	s, err := Listen(Options{
		Directory: directory, Latest: b.latest.Load, Status: func() Status { return Status{} },
		Rescuer: rescuer, Identify: identify,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Serve(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	conn, err := net.Dial("unix", filepath.Join(directory, Name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the test may have closed it
	c.Conn, c.in = conn, bufio.NewReader(conn)
	return c
}

func (c *conversation) expect(request, want string) {
	c.Helper()
	if _, err := io.WriteString(c, request+"\n"); err != nil {
		c.Fatal(err)
	}
	line, err := c.in.ReadString('\n')
	if err != nil || !strings.Contains(line, want) {
		c.Errorf("%s: %q, %v, want %q", request, line, err, want)
	}
}

func (c *conversation) outcome() guard.RescueOutcome {
	c.Helper()
	select {
	case r := <-c.rescuer.ended:
		return r
	case <-time.After(time.Minute):
		c.Fatal("nothing is said of what came of it")
		return guard.RescueOutcome{}
	}
}

const rescueRequest = `{"id":1,"cmd":"rescue","gpu":"GPU-1","bytes":4096}`

// TestRescueIsAnswered: the rescuer gets the process and the user from the kernel, and the outcome
// from the process.
func TestRescueIsAnswered(t *testing.T) {
	c := converse(t, &fakeRescuer{})
	c.expect(rescueRequest, `{"id":1,"ok":true,"rescue":{"freed_bytes":3,"free_bytes":5}}`)
	own, err := process.NewTable("/proc").Identify(os.Getpid())
	if a := <-c.rescuer.asked; err != nil || a.Process != own || a.UID != uint32(os.Geteuid()) || a.GPUUUID != "GPU-1" || a.Bytes != 4096 {
		t.Errorf("asked by %+v, want %+v: %v", a, own, err)
	}
	c.expect(`{"id":2,"cmd":"rescued","succeeded":true,"waited_ms":38}`, `"ok":true`)
	if r := c.outcome(); r != (guard.RescueOutcome{Known: true, Succeeded: true, Waited: 38 * time.Millisecond}) {
		t.Errorf("it ended with %+v", r)
	}
	c.expect(`{"id":3,"cmd":"rescued","succeeded":true}`, "there was no rescue")
}

// TestRescueOfAnothersPID: the process that connected has passed its connection on and ended, and a
// newer process has its pid.
func TestRescueOfAnothersPID(t *testing.T) {
	c := converse(t, &fakeRescuer{})
	c.expect(`{"id":1,"cmd":"rescued"}`, "there was no rescue") // c is connected
	c.younger.Store(true)
	c.expect(rescueRequest, `"code":"forbidden"`)
	if len(c.rescuer.asked) > 0 {
		t.Errorf("asked in the name of %+v", <-c.rescuer.asked)
	}
}

// TestRescueThatIsNotReported: a rescue ends with an unknown outcome if the process asks again, or
// hangs up.
func TestRescueThatIsNotReported(t *testing.T) {
	c := converse(t, &fakeRescuer{})
	c.expect(rescueRequest, `"ok":true`)
	c.expect(rescueRequest, `"ok":true`)
	if r := c.outcome(); r != (guard.RescueOutcome{}) {
		t.Errorf("the first ended with %+v", r)
	}
	_ = c.Close() // without a report
	if r := c.outcome(); r != (guard.RescueOutcome{}) {
		t.Errorf("the second ended with %+v", r)
	}
}

// TestRescueIsRefused: a rescue is refused for the rescuer's reason, or because the request is
// impossible.
func TestRescueIsRefused(t *testing.T) {
	c := converse(t, &fakeRescuer{err: &guard.RescueError{Code: guard.RescueBusy, Reason: "one is under way"}})
	c.expect(rescueRequest, `{"id":1,"ok":false,"error":{"code":"busy","message":"one is under way"}}`)
	for _, impossible := range []string{
		`{"id":1,"cmd":"rescue","bytes":4096}`, `{"id":1,"cmd":"rescue","gpu":"GPU-1"}`, `{"id":1,"cmd":"rescue","gpu":"GPU-1","bytes":-1}`,
		`{"id":1,"cmd":"rescue","gpu":"GPU-1","bytes":9007199254740992}`, `{"id":1,"cmd":"rescued","waited_ms":-1}`,
		`{"id":1,"cmd":"rescue","gpu":"` + strings.Repeat("x", 100) + `","bytes":1}`,
	} {
		c.expect(impossible, `"code":"bad_request"`)
	}
	c.expect(`{"id":1,"cmd":"rescued"}`, "there was no rescue")
	if len(c.rescuer.asked) != 1 {
		t.Errorf("asked %d times, want once", len(c.rescuer.asked))
	}
	s := &Server{}
	if got := string(s.reply([]byte(rescueRequest), true)); !strings.Contains(got, `"code":"unsupported"`) {
		t.Errorf("without a guard: %s", got)
	}
	s.options.Rescuer = c.rescuer
	if got := string(s.reply([]byte(rescueRequest), true)); !strings.Contains(got, `"code":"unsupported"`) {
		t.Errorf("where it is unknown who asks: %s", got)
	}
}

// TestOnlyAProcessThatWaitsIsRescued: a process that connects as soon as it starts is rescued. A
// process that hung up, or is in another pid namespace, is not.
func TestOnlyAProcessThatWaitsIsRescued(t *testing.T) {
	own, err := process.NewTable("/proc").Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{options: Options{Identify: func(int) (process.Identity, error) { return own, nil }}}
	for _, c := range []struct {
		pid    int
		since  uint64
		hangUp bool
		want   string
	}{
		{own.PID, own.StartTime, false, ""},
		{own.PID, own.StartTime, true, "your process has ended"},
		{own.PID, own.StartTime - 1, false, "the process that connected has ended"},
		{0, own.StartTime, false, "that is not visible here"},
	} {
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), Name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		far, err := net.Dial("unix", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = far.Close() }()
		near, err := listener.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = near.Close() }()
		if c.hangUp {
			_ = far.Close()
		}
		if id, err := s.identify(&client{conn: near, pid: c.pid, since: c.since}); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && id != own {
			t.Errorf("%+v: %+v, %v", c, id, err)
		}
	}
}
