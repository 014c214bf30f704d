package socket

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"vramscope/internal/process"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// ownReader reads the probes that this user may ask. It is the same as sampler.ProbeReader.
type ownReader interface {
	Answers() []probe.Answer
	Unasked() int
}

// Reader joins the probes that this user may ask with the daemon's reports of the others. It is a
// sampler.ProbeReader.
type Reader struct {
	own    ownReader
	places []Place
	now    func() time.Time

	asked   chan struct{} // closed after the first attempt
	answers atomic.Pointer[[]probe.Answer]
	guard   atomic.Pointer[snapshot.Guard]

	mu     sync.Mutex
	client *Client // nil while there is no daemon
	err    error   // why there is none
}

// How often the reader asks a daemon, and looks for one.
const (
	askInterval  = time.Second
	lookInterval = 5 * time.Second
)

// NewReader makes a Reader; Run reads.
func NewReader(own ownReader, places []Place, now func() time.Time) *Reader {
	r := &Reader{own: own, places: places, now: now, asked: make(chan struct{})}
	r.answers.Store(&[]probe.Answer{})
	return r
}

// Run reads until the context ends.
func (r *Reader) Run(ctx context.Context) {
	first := sync.OnceFunc(func() { close(r.asked) })
	defer r.set(nil, nil)
	defer first()
	for ctx.Err() == nil {
		client, err := Dial(ctx, r.places)
		if err == nil {
			err = r.follow(ctx, client, first)
		}
		r.set(nil, err)
		r.answers.Store(&[]probe.Answer{})
		first()
		pause(ctx, lookInterval)
	}
}

// follow asks one daemon until it goes away.
func (r *Reader) follow(ctx context.Context, client *Client, first func()) error {
	defer func() { _ = client.Close() }() // an error loses nothing
	r.set(client, nil)
	defer r.guard.Store(nil)
	var said time.Time // when the daemon was last asked about itself
	for ctx.Err() == nil {
		interval, answers := lookInterval, []probe.Answer{}
		var err error
		// Another user's daemon may ask probes that this user may not. The answers of a simulated
		// box are not used.
		if status := client.Status(); status.UID != os.Geteuid() && !status.Simulated {
			interval = askInterval
			answers, err = client.reports(ctx, r.now)
		}
		if err == nil && time.Since(said) >= lookInterval {
			err, said = client.hello(ctx), time.Now()
		}
		// A daemon without a snapshot refuses.
		if err != nil && !refused(err) {
			return err
		}
		r.answers.Store(&answers)
		if err := r.askGuard(ctx, client); err != nil {
			return err
		}
		if r.Guard() != nil {
			interval = askInterval
		}
		first()
		pause(ctx, interval)
	}
	return nil
}

// RecordingPaused returns why the recording of the daemon is paused, by its last status; "" if the
// recording is not paused, or there is no daemon.
func (r *Reader) RecordingPaused() string {
	if client, _ := r.Client(); client != nil {
		if status := client.Status(); status.Recording == "paused" && !status.Simulated {
			return cmp.Or(status.Reason, "no reason given")
		}
	}
	return ""
}

func (r *Reader) set(client *Client, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client, r.err = client, err
}

// Client returns the connection; nil without a daemon, with the reason.
func (r *Reader) Client() (*Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client, r.err
}

// Settle waits until the first attempt to ask a daemon is over.
func (r *Reader) Settle(ctx context.Context) {
	select {
	case <-r.asked:
	case <-ctx.Done():
	}
}

func (r *Reader) Unasked() int { return r.own.Unasked() }

// Answers implements sampler.ProbeReader: for each process, what its probe answered this user or,
// without such an answer, the daemon.
func (r *Reader) Answers() []probe.Answer {
	own, others := r.own.Answers(), *r.answers.Load()
	if len(others) == 0 {
		return own
	}
	place := make(map[process.Key]int, len(own))
	for i := range own {
		place[own[i].Process.Key()] = i
	}
	all := append(make([]probe.Answer, 0, len(own)+len(others)), own...)
	for _, other := range others {
		at, both := place[other.Process.Key()]
		switch {
		case !both:
			all = append(all, other)
		case own[at].At.IsZero():
			all[at] = other
		}
	}
	return all
}

// Guard returns the last state of the daemon's guard; nil if no daemon answers, or it has none.
func (r *Reader) Guard() *snapshot.Guard { return r.guard.Load() }

// PauseGuard pauses the guard of the connected daemon.
func (r *Reader) PauseGuard(ctx context.Context, d time.Duration) error {
	client, _ := r.Client()
	if client == nil {
		return errSilent
	}
	g, err := client.PauseGuard(ctx, d)
	switch {
	case err == nil:
		r.guard.Store(g)
	case !refused(err):
		return errSilent
	}
	return err
}

// errSilent has no details: Reader.Client returns them.
var errSilent = errors.New("the daemon does not answer")

// askGuard asks for the guard's state; an error ends the connection.
func (r *Reader) askGuard(ctx context.Context, client *Client) error {
	if client.Status().Simulated {
		return nil // the guard of a simulated box does not concern this one
	}
	g, err := client.Guard(ctx)
	if err != nil && !refused(err) {
		return err
	}
	r.guard.Store(g)
	return nil
}
