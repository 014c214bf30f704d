package socket

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"vramscope/internal/panics"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// Options are a Server's sources and limits.
type Options struct {
	Directory string
	Share     Share
	Latest    func() *snapshot.Snapshot // nil before the first
	Answers   func() []probe.Answer     // returns the probes' answers; nil if none are read
	History   snapshot.History
	Status    func() Status // without Proto, PID, UID and View
	Failed    func(error)   // takes a panic; may be nil
	Guard     Guard         // nil: there is none
	// Rescuer frees memory for processes whose allocation has failed; may be nil. Identify
	// returns the process with a pid.
	Rescuer  Rescuer
	Identify func(pid int) (process.Identity, error)
	Leaser   Leaser                                  // nil: there are no leases
	Owner    func(pid int) quantity.Optional[uint32] // the user who owns a process
}

// Guard answers requests about the guard.
type Guard interface {
	State() *snapshot.Guard
	// Pause stops the guard until a time; a time in the past ends a pause.
	Pause(until time.Time) *snapshot.Guard
}

// The limits on clients. Connections that wait for a lease do not count.
const (
	mostOwners  = 32 // connections of root and the daemon's user
	mostOthers  = 32 // connections of all other users together
	mostOfAUser = 8
	idleTime    = 2 * time.Minute      // without a request, after which a connection is closed
	writeTime   = 2 * time.Second      // for a client to take an answer
	socketCheck = 5 * time.Second      // between two checks of the socket's name
	acceptRate  = .05                  // the share of a core for accepting the connections of a socket
	acceptCost  = 5 * time.Microsecond // what each connection takes beside admit
)

// Server is the daemon's end.
type Server struct {
	options Options
	cache   cache
	others  *budget
	clients sync.WaitGroup

	mu    sync.Mutex
	bound bound
	open  map[*net.UnixConn]uint32 // the user of each open connection
	waits map[*net.UnixConn]bool   // the connections that wait for a lease
	users map[uint32]*budget
	ended bool
}

// Listen makes the sockets; Serve answers. The caller holds the daemon's lock.
func Listen(options Options) (*Server, error) {
	b, err := listen(options.Directory, options.Share)
	if err != nil {
		return nil, err
	}
	return &Server{
		options: options, bound: b,
		others: newBudget(othersRate),
		open:   make(map[*net.UnixConn]uint32), waits: make(map[*net.UnixConn]bool), users: make(map[uint32]*budget),
	}, nil
}

// Serve answers until the context ends, removes the sockets, closes the connections, and waits for
// their goroutines. It is called once.
func (s *Server) Serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	accepting := s.accept(ctx)
	checks := time.NewTicker(socketCheck)
	defer checks.Stop()
	for {
		select {
		case <-ctx.Done():
			s.mu.Lock()
			s.ended = true
			s.bound.close()
			for conn := range s.open {
				_ = conn.Close() // an answer in progress is lost
			}
			s.mu.Unlock()
			<-accepting
			s.clients.Wait()
			return
		case <-accepting: // the listener was replaced
			accepting = s.accept(ctx)
		case <-checks.C:
			s.rebind()
		}
	}
}

// rebind replaces both sockets if the name of one was removed. Serve tries again after a failure.
func (s *Server) rebind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bound.there() || MakeDirectory(s.options.Directory) != nil {
		return
	}
	if next, err := listen(s.options.Directory, s.options.Share); err == nil {
		s.bound, next = next, s.bound
		next.close() // the new sockets at its paths stay
	}
}

func owner(uid uint32) bool { return uid == 0 || uid == uint32(os.Geteuid()) }

// accept accepts until the present listeners are closed, and then closes the channel.
func (s *Server) accept(ctx context.Context) <-chan struct{} {
	s.mu.Lock()
	sockets := s.bound
	s.mu.Unlock()
	var running sync.WaitGroup
	for i := range sockets {
		running.Go(func() {
			for !s.acceptAt(ctx, sockets[i].listener) {
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	return done
}

// acceptAt accepts until the listener is closed; it returns false after a panic.
func (s *Server) acceptAt(ctx context.Context, listener *net.UnixListener) (closed bool) {
	defer s.caught()
	slots := newBudget(acceptRate) // limits the cost of a flood of connections
	for {
		conn, err := listener.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return true
		case err != nil: // most likely out of descriptors
			pause(ctx, 100*time.Millisecond)
		default:
			slots.use(ctx, func() time.Duration {
				began := time.Now()
				s.admit(ctx, conn)
				return time.Since(began) + acceptCost
			})
		}
	}
}

// admit starts a client, or sends the reason and closes the connection.
func (s *Server) admit(ctx context.Context, conn *net.UnixConn) {
	peer, err := process.Peer(conn)
	since := process.Ticks()
	var refusal *probe.Error
	var budget *budget
	s.mu.Lock()
	switch {
	case err != nil:
		refusal = &probe.Error{Code: probe.Forbidden, Message: "your user is unknown: " + err.Error()}
	case !owner(peer.Uid) && !s.options.Share.open():
		refusal = &probe.Error{Code: probe.Forbidden, Message: "this daemon shares nothing with other users"}
	case s.full(peer.Uid):
		refusal = &probe.Error{Code: probe.Busy, Message: "there are too many connections"}
	case s.ended:
		refusal = &probe.Error{Code: probe.Busy, Message: "the daemon is ending"}
	default:
		s.open[conn] = peer.Uid
		budget = s.budgetOf(peer.Uid)
		s.clients.Add(1)
	}
	s.mu.Unlock()
	if refusal != nil {
		// A new connection's buffer is empty, so this does not block.
		_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
		_, _ = conn.Write(encode(&answer{Error: refusal})) // the connection is closed anyway
		_ = conn.Close()
		return
	}
	go func() {
		defer s.clients.Done()
		defer s.caught()
		defer func() {
			_ = conn.Close() // nothing is left to send
			s.mu.Lock()
			delete(s.open, conn)
			delete(s.waits, conn)
			s.mu.Unlock()
		}()
		s.serve(ctx, &client{conn: conn, uid: peer.Uid, pid: int(peer.Pid), since: since, owner: owner(peer.Uid)}, budget)
	}()
}

// caught catches a panic, so that no client can end the daemon.
func (s *Server) caught() {
	if c := panics.Catch(recover()); c != nil && s.options.Failed != nil {
		s.options.Failed(c)
	}
}

// full reports whether a user may open no more connections. The lock is held.
func (s *Server) full(uid uint32) bool {
	same, others := 0, 0
	for conn, user := range s.open {
		if s.waits[conn] {
			continue
		}
		if user == uid {
			same++
		}
		if !owner(user) {
			others++
		}
	}
	if owner(uid) {
		return len(s.open)-len(s.waits)-others >= mostOwners
	}
	return same >= mostOfAUser || others >= mostOthers
}

// budgetOf returns a user's budget, and drops unused budgets of others. The lock is held.
func (s *Server) budgetOf(uid uint32) *budget {
	for other, b := range s.users {
		if b.full() && !slices.Contains(slices.Collect(maps.Values(s.open)), other) {
			delete(s.users, other)
		}
	}
	if s.users[uid] == nil {
		share := userRate
		if owner(uid) {
			share = ownersRate
		}
		s.users[uid] = newBudget(share)
	}
	return s.users[uid]
}

// budget limits the share of a core that some clients use. A request over the limit waits.
type budget struct {
	turn sync.Mutex
	left *rate.Limiter // a token is a nanosecond; negative: in debt
}

// The budgets, as shares of a core.
const (
	userRate    = .02
	othersRate  = .05 // all users but the owner and root
	ownersRate  = .25
	burst       = 250 * time.Millisecond // the most time that may be saved up
	requestCost = 30 * time.Microsecond  // what the system calls of a request take, without sending
)

func newBudget(share float64) *budget {
	return &budget{left: rate.NewLimiter(rate.Limit(share*float64(time.Second)), int(burst))}
}

// use waits until the budget is out of debt, runs act, and charges the budget with its cost.
func (b *budget) use(ctx context.Context, act func() time.Duration) (cost time.Duration) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.left.WaitN(ctx, 0) != nil {
		return 0
	}
	cost = act()
	now, most := time.Now(), time.Duration(b.left.Burst()) // the limit of one reservation
	for owed := cost; owed > 0; owed -= most {
		b.left.ReserveN(now, int(min(owed, most)))
	}
	return cost
}

// full reports whether the budget is unused.
func (b *budget) full() bool { return b.left.Tokens() >= float64(b.left.Burst()) }

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
		time.Sleep(wakeUp)
	}
}

// wakeUp is a pause between waking up and a system call: see wakeUp in package sampler.
const wakeUp = 2 * time.Millisecond
