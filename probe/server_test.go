package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/quantity"
)

func TestClientReadsStatsAndFlushes(t *testing.T) {
	client := dial(t, start(t, newPool()))
	if id := client.process; id.PID != os.Getpid() || id.Foreign() {
		t.Errorf("the peer is %+v", id)
	}
	hello, err := client.Hello(soon(t))
	if err != nil || hello.Proto != Version || hello.PID != os.Getpid() || hello.Runtimes[0].Name != "Pool" {
		t.Fatalf("hello: %+v, %v", hello, err)
	}
	report, err := client.Stats(soon(t), false)
	if err != nil || report.Devices[0].Allocators[0].Cached.Or(0) != 4*quantity.GiB || report.TimeNS == 0 {
		t.Fatalf("stats: %+v, %v", report, err)
	}
	dry, err := client.Flush(soon(t), FlushRequest{Level: Gradual, KeepBytes: quantity.GiB, DryRun: true})
	if err != nil || dry.Devices[0].FreedBytes != 3*quantity.GiB || !dry.DryRun {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	done, err := client.Flush(soon(t), FlushRequest{Level: Urgent, Devices: []string{testUUID}})
	if err != nil || done.Devices[0].BeforeBytes != 10*quantity.GiB || done.Devices[0].AfterBytes != 6*quantity.GiB || done.Devices[0].FreedBytes != 4*quantity.GiB {
		t.Fatalf("flush: %+v, %v", done, err)
	}
}

// Handler answers for a Server, with simulated allocators. An *Error is sent to the monitor
// unchanged, any other error as Internal.
type Handler interface {
	// Hello names runtimes, capabilities and caches; the server adds the rest.
	Hello() Hello
	// Stats reads the allocators' stats. It should take far less than 200 ms.
	Stats(ctx context.Context) (Report, error)
	// Flush frees cached memory. It sets Devices, with the sizes measured before
	// and after, SkippedReason and Notes.
	Flush(ctx context.Context, request FlushRequest) (FlushResult, error)
	// Snapshot writes a snapshot in the requested format, and sets Format and
	// Notes. For an unknown format it returns an *Error with Unsupported.
	Snapshot(ctx context.Context, request SnapshotRequest, w io.Writer) (SnapshotResult, error)
}

// Server is a probe in Go, without the limits that real ones have.
type Server struct {
	dir      *directory
	name     string
	listener *net.UnixListener

	mu   sync.Mutex
	open map[*net.UnixConn]struct{}
}

// listen makes a server in a directory, which it makes if necessary.
func listen(path string) (*Server, error) {
	begin, err := ownStart()
	if err != nil {
		return nil, err
	}
	dir, err := makeDirectory(path, uint32(os.Geteuid()))
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, name: socketName(os.Getpid(), begin), open: make(map[*net.UnixConn]struct{})}
	s.listener, err = dir.listen(s.name)
	return s, err
}

func (s *Server) Path() string { return filepath.Join(s.dir.path, s.name) }

// Serve answers until the context ends, and then removes the socket.
func (s *Server) Serve(ctx context.Context, h Handler) error {
	defer s.dir.close()
	var running sync.WaitGroup
	defer running.Wait()
	defer context.AfterFunc(ctx, func() {
		_ = s.listener.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for conn := range s.open {
			_ = conn.Close()
		}
	})()
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			return s.dir.remove(s.name)
		}
		s.mu.Lock()
		s.open[conn] = struct{}{}
		s.mu.Unlock()
		running.Go(func() {
			serve(ctx, conn, h)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.open, conn)
		})
	}
}

// lent reads a connection, and keeps the descriptor that came last.
type lent struct {
	*net.UnixConn
	file *os.File
}

func (l *lent) Read(buffer []byte) (int, error) {
	n, files, err := receive(l.UnixConn, buffer)
	for _, file := range files {
		l.file = file
	}
	return max(n, 0), err // less than 0 with an error
}

// serve answers the requests on a connection, in their order.
func serve(ctx context.Context, conn *net.UnixConn, h Handler) {
	defer func() { _ = conn.Close() }()
	from := &lent{UnixConn: conn}
	in := newLines(from)
	for {
		line, err := in.next()
		if err != nil {
			return
		}
		var asked request
		answer, err := any(nil), json.Unmarshal(line, &asked)
		done := reply{ID: asked.ID, OK: true}
		if err == nil {
			answer, err = respond(ctx, h, asked.Cmd, line, done, from.file)
		}
		if err != nil {
			done.OK = false
			if !errors.As(err, &done.Error) {
				done.Error = failure(Internal, "%v", err)
			}
			answer = done
		}
		out, err := encode(answer)
		if err != nil {
			return
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

func respond(ctx context.Context, h Handler, cmd string, line []byte, done reply, file *os.File) (any, error) {
	switch cmd {
	case cmdHello:
		hello := h.Hello()
		hello.Proto, hello.PID = Version, os.Getpid()
		begin, err := ownStart()
		hello.StartTime = begin
		return helloLine{done, hello}, err
	case cmdStats:
		now := time.Now().UnixNano()
		report, err := h.Stats(ctx)
		if report.TimeNS == 0 {
			report.TimeNS = now
		}
		return statsLine{done, report}, err
	case cmdFlush:
		var wanted FlushRequest
		if err := json.Unmarshal(line, &wanted); err != nil {
			return nil, err
		}
		result, err := h.Flush(ctx, wanted)
		result.Level, result.DryRun = wanted.Level, wanted.DryRun
		for i := range result.Devices {
			d := &result.Devices[i]
			d.FreedBytes = d.BeforeBytes - d.AfterBytes
		}
		return flushedLine{done, result}, err
	case cmdSnapshot:
		var wanted SnapshotRequest
		if err := json.Unmarshal(line, &wanted); err != nil {
			return nil, err
		}
		w := io.NewOffsetWriter(file, 0)
		result, err := h.Snapshot(ctx, wanted, w)
		result.Bytes, _ = w.Seek(0, io.SeekCurrent) // how much was written
		_ = file.Close()
		return snapshotLine{done, result}, err
	}
	return nil, failure(UnknownCommand, "%s", cmd)
}

// listen binds and listens. Only the directory's owner can reach the socket, whatever its mode.
func (d *directory) listen(name string) (*net.UnixListener, error) {
	fail := func(what string, err error) error {
		if errno, ok := errors.AsType[unix.Errno](err); ok {
			err = errno // without the path below /proc/self
		}
		return fmt.Errorf("%s %s: %w", what, filepath.Join(d.path, name), err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.reach(name), Net: "unix"})
	if err != nil {
		return nil, fail("listen on", err)
	}
	listener.SetUnlinkOnClose(false)
	if err := unix.Fchmodat(int(d.file.Fd()), name, 0o600, 0); err != nil {
		return nil, fail("chmod", errors.Join(err, listener.Close()))
	}
	return listener, nil
}

// receive reads data and descriptors.
func receive(conn *net.UnixConn, buffer []byte) (int, []*os.File, error) {
	var control [64]byte // space for the descriptor of a snapshot, and a few unwanted ones
	n, controlled, _, _, err := conn.ReadMsgUnix(buffer, control[:])
	if controlled == 0 {
		return n, nil, err
	}
	messages, parseErr := unix.ParseSocketControlMessage(control[:controlled])
	if parseErr != nil {
		return n, nil, err
	}
	var files []*os.File
	for i := range messages {
		fds, rightsErr := unix.ParseUnixRights(&messages[i])
		if rightsErr != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "snapshot"))
		}
	}
	return n, files, err
}

const testUUID = "GPU-11111111-2222-3333-4444-555555555555"

// pool is a Handler with one simulated allocator.
type pool struct {
	mu       sync.Mutex
	reserved quantity.Bytes
	used     quantity.Bytes

	stats    func() (Report, error) // replaces the pool's own
	snapshot string                 // what a snapshot writes
	recorded *Recording             // what the answer to a snapshot says was recorded
}

func newPool() *pool {
	return &pool{reserved: 10 * quantity.GiB, used: 6 * quantity.GiB, snapshot: testMap}
}

// testMap is a map of one segment, made now.
var testMap = fmt.Sprintf(`{"schema":"vramscope/segments/1","time_ns":%d`, time.Now().UnixNano()) + `,"devices":[{"uuid":"` + testUUID + `","left":3,"segments":[
	{"address":139637976727552,"size":20971520,"pool":"large","stream":7,"private":true,"blocks":[[2097152,"live"],[1048576,"pending"], [17825792, "stuck"]]}]}]}`

func (p *pool) Hello() Hello {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := p.reserved
	return Hello{
		Runtimes: []Runtime{{Name: "Pool", Version: "1.0"}}, Capabilities: []string{"flush", "snapshot"},
		Evictable: []Evictable{{Name: "sized", Priority: 1, Bytes: reported(held)}, {Name: "unsized"}},
	}
}

func (p *pool) Stats(context.Context) (Report, error) {
	if p.stats != nil {
		return p.stats()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	reserved, used, cached, none := p.reserved, p.used, p.reserved-p.used, quantity.Bytes(0)
	total := 80 * quantity.GiB
	return Report{Devices: []Device{{UUID: testUUID, Total: reported(total), Allocators: []Allocator{{
		Kind: "cuda_pool", Handle: 7, Basis: LargestFree,
		Reserved: reported(reserved), Allocated: reported(used), Cached: reported(cached), Fragmented: reported(none), Returnable: reported(cached),
	}}}}}, nil
}

func (p *pool) Flush(_ context.Context, r FlushRequest) (FlushResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.reserved
	after := min(before, p.used+r.KeepBytes)
	if !r.DryRun {
		p.reserved = after
	}
	return FlushResult{Devices: []Flushed{{UUID: testUUID, BeforeBytes: before, AfterBytes: after}}}, nil
}

func (p *pool) Snapshot(_ context.Context, r SnapshotRequest, w io.Writer) (SnapshotResult, error) {
	switch r.Format {
	case "test":
		_, err := fmt.Fprint(w, p.snapshot)
		return SnapshotResult{Format: "test/1", Notes: []string{"noted"}, Recorded: p.recorded}, err
	case SegmentsFormat:
		_, err := fmt.Fprint(w, p.snapshot)
		return SnapshotResult{Format: SegmentsSchema}, err
	default:
		return SnapshotResult{}, failure(Unsupported, "no %s here", r.Format)
	}
}

// start serves h in a new directory until the test ends.
func start(t *testing.T, h Handler) *Server {
	t.Helper()
	server, err := listen(t.TempDir() + "/vramscope")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server
}

// dial connects to a server as a monitor does.
func dial(t *testing.T, s *Server) *Client {
	t.Helper()
	client, err := slowFinder().visit(s.dir, s.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}
