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
)

// Handler is the process that a Server speaks for.
//
// Each method is called by one goroutine at a time, but Stats may be called
// while a Flush or a Snapshot runs. An *Error goes to the monitor as it is,
// any other error as Internal. The context ends with Serve.
type Handler interface {
	// Hello names runtimes and capabilities; the server adds the rest.
	Hello() Hello
	// Stats reads the allocators' books. It should take far less than 200 ms.
	Stats(ctx context.Context) (Report, error)
	// Flush gives memory back; the request has been checked. It tells Devices,
	// each with what was measured before and after, SkippedReason and Notes.
	Flush(ctx context.Context, request FlushRequest) (FlushResult, error)
	// Snapshot writes where the allocators' memory lies, in the format that is
	// wanted, and tells Format and Notes; a format that it has not is an *Error
	// with Unsupported.
	Snapshot(ctx context.Context, request SnapshotRequest, w io.Writer) (SnapshotResult, error)
}

// ServerOptions are for tests and unusual places. The zero value is right.
type ServerOptions struct {
	Directories []string         // where to serve: the first that can be used; nil: Directories of this process
	Clock       func() time.Time // nil: time.Now
}

// What a server grants its monitors.
const (
	maxConnections  = 16
	idleTime        = 2 * time.Minute // then a connection is closed
	lineTime        = 5 * time.Second // for the rest of a line that has begun
	writeTime       = 2 * time.Second // for a monitor to take an answer
	socketCheckTime = 5 * time.Second // between two looks at the socket's name
	leaveTime       = time.Second     // for what is under way, at the end
	flushBurst      = 8               // flushes at once: two gradual ones in four steps
	flushEvery      = 2 * time.Second // and one more each such time
)

// Server is the probe's end of the protocol.
type Server struct {
	directories     []string
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
	rate     *bucket

	connections sync.WaitGroup

	mu     sync.Mutex
	socket *boundSocket
	open   map[*net.UnixConn]struct{}
}

// Listen makes the socket, so that monitors find it; Serve answers.
func Listen(options ServerOptions) (*Server, error) {
	start, err := startTime("/proc/self")
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
		open:            make(map[*net.UnixConn]struct{}),
	}
	if s.directories == nil {
		s.directories = Directories(os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR"))
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.rate = &bucket{clock: s.clock, burst: flushBurst, period: flushEvery}
	s.socket, err = bind(s.directories, s.uid, s.pid, s.start, time.Now())
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Path is where the server listens. It changes when the directory vanishes,
// as $XDG_RUNTIME_DIR does at the user's last logout.
func (s *Server) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.socket.path()
}

// Serve answers until the context ends, and then removes the socket. It may
// be called once. A handler that hangs is left behind after a second.
func (s *Server) Serve(ctx context.Context, handler Handler) error {
	s.handler = handler
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looks := time.NewTicker(s.socketCheckTime)
	defer looks.Stop()
	accepting := s.accept(ctx)
	for {
		select {
		case <-ctx.Done():
			return s.leave(accepting)
		case <-looks.C:
			if next := s.move(); next != nil {
				<-accepting // its listener is closed
				accepting = s.accept(ctx)
			}
		}
	}
}

// accept takes connections from the present place until its listener is
// closed; then the channel is.
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
				// Out of descriptors, most likely: the host program's own
				// business. It is not made worse by trying at full speed.
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

// admit starts a connection, or says why it is closed.
func (s *Server) admit(ctx context.Context, conn *net.UnixConn) {
	_, uid, err := peerOf(conn)
	var refusal *Error
	s.mu.Lock()
	switch {
	case err != nil:
		refusal = failure(Forbidden, "cannot tell whose you are: %v", err)
	case uid != s.uid && uid != 0:
		refusal = failure(Forbidden, "this is user %d's process; you are user %d", s.uid, uid)
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
		// A new connection's buffer is empty: this does not wait. If it fails
		// all the same, the closing says enough.
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

// move listens anew if the socket's name does not lead here any more. It
// returns nil if it does, or if there is nowhere to go: then the next look
// tries again.
func (s *Server) move() *boundSocket {
	if s.socket.standing(s.uid) {
		return nil
	}
	next, err := bind(s.directories, s.uid, s.pid, s.start, time.Now())
	if err != nil {
		return nil
	}
	s.mu.Lock()
	old := s.socket
	s.socket = next
	s.mu.Unlock()
	_ = old.listener.Close() // its name is gone already
	return next
}

// leave ends everything.
func (s *Server) leave(accepting <-chan struct{}) error {
	err := s.socket.leave(s.uid, s.getpid())
	<-accepting
	s.mu.Lock()
	for conn := range s.open {
		_ = conn.Close() // what its goroutine was writing is lost, as is the probe
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.connections.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(leaveTime):
		err = errors.Join(err, errors.New("a request is still under way: left behind"))
	}
	if err != nil {
		return fmt.Errorf("probe: stop serving: %w", err)
	}
	return nil
}
