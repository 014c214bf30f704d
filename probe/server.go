package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/time/rate"

	"vramscope/internal/bounded"
	"vramscope/internal/process"
)

// Handler is what a Server serves: the allocators of its process.
//
// Each method is called by one goroutine at a time, but Stats may be called
// while a Flush or a Snapshot runs. An *Error is sent to the monitor unchanged,
// any other error as Internal. The context ends with Serve.
type Handler interface {
	// Hello names runtimes and capabilities; the server adds the rest.
	Hello() Hello
	// Stats reads the allocators' stats. It should take far less than 200 ms.
	Stats(ctx context.Context) (Report, error)
	// Flush frees cached memory; the request has been checked. It sets Devices,
	// with the sizes measured before and after, SkippedReason and Notes.
	Flush(ctx context.Context, request FlushRequest) (FlushResult, error)
	// Snapshot writes a snapshot in the requested format, and sets Format and
	// Notes. For an unknown format it returns an *Error with Unsupported.
	Snapshot(ctx context.Context, request SnapshotRequest, w io.Writer) (SnapshotResult, error)
}

// ServerOptions configure a Server. The zero value selects the defaults.
type ServerOptions struct {
	Directories []string         // where to serve: in the first that is usable; nil: Directories of this process
	Clock       func() time.Time // nil: time.Now
}

// The limits on a server's monitors.
const (
	maxConnections  = 16
	idleTime        = 2 * time.Minute // an idle connection is closed after it
	lineTime        = 5 * time.Second // for the rest of a line that has begun
	writeTime       = 2 * time.Second // for a monitor to take an answer
	socketCheckTime = 5 * time.Second // between two checks of the socket's name
	leaveTime       = time.Second     // for requests in progress, at the end
	flushBurst      = 8               // flushes at once: two gradual ones in four steps
	flushEvery      = 2 * time.Second // and one more each such time
)

// Server is the probe's end of the protocol.
type Server struct {
	directories     []string
	spare           bool // and the spare directory in /tmp
	clock           func() time.Time
	uid             uint32
	pid             int
	start           uint64
	getpid          func() int // a forked child's is another
	socketCheckTime time.Duration

	handler  Handler
	stats    sync.Mutex
	flush    sync.Mutex
	snapshot sync.Mutex
	rate     *rate.Limiter

	connections sync.WaitGroup

	mu     sync.Mutex
	socket *boundSocket
	open   map[*net.UnixConn]struct{}
}

// Listen creates the socket, so that monitors find it; Serve answers.
func Listen(options ServerOptions) (*Server, error) {
	start, err := ownStart()
	if err != nil {
		return nil, fmt.Errorf("probe: this process's start time: %w", err)
	}
	s := &Server{
		directories:     options.Directories,
		clock:           options.Clock,
		uid:             uint32(os.Geteuid()),
		pid:             os.Getpid(),
		start:           start,
		getpid:          os.Getpid,
		socketCheckTime: socketCheckTime,
		rate:            rate.NewLimiter(rate.Every(flushEvery), flushBurst),
		open:            make(map[*net.UnixConn]struct{}),
	}
	if s.directories == nil {
		s.directories, s.spare = Directories(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR")), true
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.socket, err = bind(s.directories, s.spare, s.uid, s.pid, s.start, time.Now())
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ownStart is this process's start time in clock ticks since boot. /proc may be of another
// pid namespace, but /proc/self is always this process.
func ownStart() (uint64, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	stat, err := self.Stat()
	return stat.Starttime, err
}

// Path is the path of the socket. It changes when the directory vanishes, as
// $XDG_RUNTIME_DIR does at the user's last logout.
func (s *Server) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.socket.path()
}

// Serve answers until the context ends, and then removes the socket. It is
// called once. It waits leaveTime for a handler that hangs.
func (s *Server) Serve(ctx context.Context, handler Handler) error {
	s.handler = handler
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	checks := time.NewTicker(s.socketCheckTime)
	defer checks.Stop()
	accepting := s.accept(ctx)
	for {
		select {
		case <-ctx.Done():
			return s.leave(accepting)
		case <-checks.C:
			if s.move() {
				<-accepting // its listener is closed
				accepting = s.accept(ctx)
			}
		}
	}
}

// accept accepts connections until the present listener is closed, and then
// closes the channel.
func (s *Server) accept(ctx context.Context) <-chan struct{} {
	s.mu.Lock()
	listener := s.socket.listener
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.AcceptUnix()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil:
				// Most likely the program is out of descriptors.
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			default:
				s.admit(ctx, conn)
			}
		}
	}()
	return done
}

// admit starts a connection, or sends the reason and closes it.
func (s *Server) admit(ctx context.Context, conn *net.UnixConn) {
	peer, err := process.Peer(conn)
	var refusal *Error
	s.mu.Lock()
	switch {
	case err != nil:
		refusal = failure(Forbidden, "your user is unknown: %v", err)
	case peer.Uid != s.uid && peer.Uid != 0:
		refusal = failure(Forbidden, "this is user %d's process; you are user %d", s.uid, peer.Uid)
	case len(s.open) >= maxConnections:
		refusal = failure(Busy, "%d monitors are connected already", maxConnections)
	case ctx.Err() != nil:
		refusal = failure(Busy, "the probe is ending")
	default:
		s.open[conn] = struct{}{}
		s.connections.Add(1)
	}
	s.mu.Unlock()
	if refusal != nil {
		// A new connection's buffer is empty, so this does not block. Errors do not
		// matter: the connection is closed anyway.
		_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
		_ = writeLine(conn, reply{Error: refusal})
		_ = conn.Close()
		return
	}
	go func() {
		defer s.connections.Done()
		(&connection{server: s, conn: conn}).serve(ctx)
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
}

// move creates a new socket if the name no longer leads to the present one, and
// reports whether it did. If no directory is usable, the next check tries again.
func (s *Server) move() bool {
	if s.socket.reachable(s.uid) {
		return false
	}
	next, err := bind(s.directories, s.spare, s.uid, s.pid, s.start, time.Now())
	if err != nil {
		return false
	}
	s.mu.Lock()
	old := s.socket
	s.socket = next
	s.mu.Unlock()
	_ = old.listener.Close() // its name no longer exists
	return true
}

// leave closes the socket and the connections.
func (s *Server) leave(accepting <-chan struct{}) error {
	err := s.socket.leave(s.uid, s.getpid())
	<-accepting
	s.mu.Lock()
	for conn := range s.open {
		_ = conn.Close() // an answer in progress is lost
	}
	s.mu.Unlock()
	if !bounded.Wait(&s.connections, leaveTime) {
		err = errors.Join(err, errors.New("a request is still in progress"))
	}
	if err != nil {
		return fmt.Errorf("probe: stop serving: %w", err)
	}
	return nil
}
