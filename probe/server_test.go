package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

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
	report, err := client.Stats(soon(t))
	if err != nil || *report.Devices[0].Allocators[0].CachedBytes != 4*quantity.GiB || report.TimeNS == 0 {
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

func TestConcurrentFlushIsRefused(t *testing.T) {
	p := newPool()
	p.hold, p.flushing = make(chan struct{}), make(chan struct{})
	server := start(t, p)
	first, second := dial(t, server), dial(t, server)
	done := make(chan error, 1)
	go func() {
		_, err := first.Flush(soon(t), FlushRequest{Level: Urgent})
		done <- err
	}()
	<-p.flushing
	_, err := second.Flush(soon(t), FlushRequest{Level: Urgent})
	if refused := new(Error); !errors.As(err, &refused) || refused.Code != Busy {
		t.Errorf("a second flush: %v", err)
	}
	close(p.hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFlushesAreRateLimited(t *testing.T) {
	client := dial(t, start(t, newPool()))
	for i := range 2 * flushBurst {
		_, err := client.Flush(soon(t), FlushRequest{Level: Gradual})
		if err == nil {
			continue
		}
		if refused := new(Error); !errors.As(err, &refused) || refused.Code != RateLimited || i < flushBurst {
			t.Fatalf("flush %d: %v", i, err)
		}
		if !strings.Contains(err.Error(), "again in") {
			t.Errorf("no waiting time in %v", err)
		}
		return
	}
	t.Errorf("%d flushes in a row all succeeded", 2*flushBurst)
}

const testUUID = "GPU-11111111-2222-3333-4444-555555555555"

// pool is a Handler with one simulated allocator.
type pool struct {
	mu       sync.Mutex
	reserved quantity.Bytes
	used     quantity.Bytes

	stats    func() (Report, error) // replaces the pool's own
	snapshot string                 // what a snapshot writes
	hold     chan struct{}          // a flush waits until it is closed
	flushing chan struct{}          // a flush has begun
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
		Evictable: []Evictable{{Name: "sized", Priority: 1, Bytes: &held}, {Name: "unsized"}},
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
	return Report{Devices: []Device{{UUID: testUUID, TotalBytes: &total, Allocators: []Allocator{{
		Kind: "cuda_pool", Handle: 7, Basis: LargestFree,
		ReservedBytes: &reserved, AllocatedBytes: &used, CachedBytes: &cached, FragmentedBytes: &none, ReturnableBytes: &cached,
	}}}}}, nil
}

func (p *pool) Flush(_ context.Context, r FlushRequest) (FlushResult, error) {
	if p.flushing != nil {
		p.flushing <- struct{}{}
	}
	if p.hold != nil {
		<-p.hold
	}
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
		return SnapshotResult{Format: "test/1", Notes: []string{"noted"}}, err
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
	server, err := Listen(ServerOptions{Directories: []string{t.TempDir() + "/vramscope"}})
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
		if _, err := os.Lstat(server.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket still exists: %v", err)
		}
	})
	return server
}

// dial connects to a server as a monitor does.
func dial(t *testing.T, s *Server) *Client {
	t.Helper()
	dir, err := openDirectory(s.socket.directory, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	client, err := slowFinder().visit(dir, s.socket.name)
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
