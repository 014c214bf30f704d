package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vramscope/internal/process"
)

// Monitor keeps a connection to every probe that it finds, asks each about
// once a second, and hands over what each has said last.
//
//	directories of sockets ─┐ look, each second         one goroutine each, own deadline
//	the driver's pids ──────┴→ errands ── connected ──→ seat ── hello, stats, stats … ──→ Answers
//	                            (bounded)                 ↑ Ask, Flush
//
// Nothing that a probe does reaches further than its own seat: a seat holds
// one connection, one outstanding request, one line and one report.
type Monitor struct {
	finder   *Finder
	clock    func() time.Time
	interval time.Duration
	every    time.Duration // between two looks
	own      []string      // the asking user's directories
	everyone bool          // root looks into everybody's

	wake      chan struct{}
	panics    chan error // the first panic of a goroutine, with its stack
	running   sync.WaitGroup
	published atomic.Pointer[[]*probeProcess] // a copy for who must not wait

	mu        sync.Mutex
	changed   *sync.Cond
	dirty     bool // something to look at has come that no look has seen
	pending   int  // errands and first exchanges under way
	searching int  // errands of pids among them
	byProcess map[processKey]*probeProcess
	listed    map[string][]int // the driver's pids, by GPU
	attempts  map[target]*attempt
	others    map[string]uint32 // other users' directories, when root asks
	othersAt  time.Time
}

// MonitorOptions configure a Monitor. The zero value is right.
type MonitorOptions struct {
	Interval    time.Duration    // between two questions to one probe; 0: a second
	Clock       func() time.Time // nil: time.Now
	Directories []string         // looked into for sockets; nil: this user's, and everybody's for root
}

const (
	defaultInterval  = time.Second
	maxProbes        = 2048
	maxProbesPerUser = 1024 // so that no user keeps the others' probes from root
	maxSearches      = 48
	maxNames         = 512 // sockets looked at in one directory
	lookEvery        = time.Second
	// A probe whose socket is gone while its process lives is forgotten then.
	forgetTime = time.Minute
	// What a goroutine that hangs in the kernel is given at the end.
	joinTime = 500 * time.Millisecond
)

// processKey recognises a process; its pid namespace may be unknown to one side.
type processKey struct {
	pid   int
	start uint64
}

func keyOf(id process.Identity) processKey { return processKey{id.PID, id.StartTime} }

// NewMonitor makes a Monitor; Run starts it.
func NewMonitor(finder *Finder, options MonitorOptions) *Monitor {
	m := &Monitor{
		finder:    finder,
		clock:     options.Clock,
		interval:  cmp.Or(options.Interval, defaultInterval),
		every:     lookEvery,
		own:       options.Directories,
		wake:      make(chan struct{}, 1),
		panics:    make(chan error, 1),
		dirty:     true,
		byProcess: make(map[processKey]*probeProcess),
		listed:    make(map[string][]int),
		attempts:  make(map[target]*attempt),
		others:    make(map[string]uint32),
	}
	m.changed = sync.NewCond(&m.mu)
	if m.clock == nil {
		m.clock = time.Now
	}
	if m.own == nil {
		m.own = usualDirectories(int(finder.uid))
		for _, path := range Directories(int(finder.uid), finder.runtime) {
			if !slices.Contains(m.own, path) {
				m.own = append(m.own, path)
			}
		}
		m.everyone = finder.uid == 0
	}
	m.published.Store(&[]*probeProcess{})
	return m
}

// Run looks for probes and asks them until the context ends. It is called
// once. A panic on one of its goroutines becomes a panic of Run, whose caller
// restores the terminal.
func (m *Monitor) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looks := time.NewTicker(m.every)
	defer looks.Stop()
	for {
		m.look(ctx)
		select {
		case <-ctx.Done():
			m.join()
			select {
			case err := <-m.panics:
				panic(err)
			default:
				return
			}
		case err := <-m.panics:
			panic(err)
		case <-looks.C:
		case <-m.wake:
		}
	}
}

// start runs a goroutine of the monitor, and hands its panic to Run.
func (m *Monitor) start(act func()) {
	m.running.Go(func() {
		defer func() {
			if value := recover(); value != nil {
				select {
				case m.panics <- fmt.Errorf("%v\n%s", value, debug.Stack()):
				default: // another one is on its way
				}
			}
		}()
		act()
	})
}

// join waits for the goroutines, but not for one that hangs in the kernel.
func (m *Monitor) join() {
	ended := make(chan struct{})
	go func() {
		m.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(joinTime):
	}
}

// Answers hands over the newest answer of every probe, by pid. A probe that
// has not answered yet has an Answer without a report. It never waits.
func (m *Monitor) Answers() []Answer {
	probes := *m.published.Load()
	answers := make([]Answer, len(probes))
	for i, s := range probes {
		answers[i] = *s.answer.Load()
	}
	return answers
}

// Ask has every probe asked now, unless the last Ask was less than an
// interval ago: whoever reads the driver asks at that moment, so that the two
// readings can be compared. Without it a probe is asked every 1.5 intervals.
// It never waits.
func (m *Monitor) Ask() {
	for _, s := range *m.published.Load() {
		select {
		case s.asked <- struct{}{}:
		default:
		}
	}
}

// Listed tells which processes the driver lists on a GPU. They are looked for
// in their own mount namespaces. It never waits for a probe.
func (m *Monitor) Listed(gpu string, pids []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Equal(m.listed[gpu], pids) {
		return
	}
	m.listed[gpu] = slices.Clone(pids)
	m.lookAgain()
}

// lookAgain has the next look made at once: there is something that no look has
// seen. The lock is held.
func (m *Monitor) lookAgain() {
	m.dirty = true
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Settle waits until every probe that can be found has been asked once, or
// the context ends.
func (m *Monitor) Settle(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for ctx.Err() == nil && (m.dirty || m.pending > 0) {
		m.changed.Wait()
	}
}

// Flush has a process give memory back, over the connection that its books
// are read on. It is refused if the identity does not match any more.
func (m *Monitor) Flush(ctx context.Context, id process.Identity, request FlushRequest) (FlushResult, error) {
	if err := stillThere(m.finder.table, id); err != nil {
		return FlushResult{}, err
	}
	m.mu.Lock()
	s := m.byProcess[keyOf(id)]
	var ended <-chan struct{}
	if s != nil {
		ended = s.ended
	}
	m.mu.Unlock()
	if ended == nil {
		return FlushResult{}, fmt.Errorf("probe: flush PID %d: %w", id.PID, ErrNoProbe)
	}
	ctx, cancel := context.WithTimeout(ctx, FlushDeadline)
	defer cancel()
	done := make(chan flushed, 1)
	select {
	case s.jobs <- job{ctx: ctx, request: request, done: done}:
	case <-ended:
		return FlushResult{}, fmt.Errorf("probe: flush PID %d: %w", id.PID, errHungUp)
	case <-ctx.Done():
		return FlushResult{}, fmt.Errorf("probe: flush PID %d: %w", id.PID, lateOr(ctx.Err()))
	}
	f := <-done // it has the same context
	return f.result, f.err
}

// lateOr tells a deadline from a user who gave up.
func lateOr(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrLate
	}
	return err
}

// Problem is a socket or a process that could not be connected to, with a
// reason that is worth telling.
type Problem struct {
	PID  int    // 0 where only the socket is known
	Path string // "" where only the process is known
	Err  error
}

// Problems lists what keeps probes from being read.
func (m *Monitor) Problems() []Problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Problem
	for t, a := range m.attempts {
		if a.err != nil && !ordinary(a.err) {
			found = append(found, Problem{PID: t.pid, Path: t.path(), Err: a.err})
		}
	}
	slices.SortFunc(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Path, b.Path))
	})
	return found
}

// ordinary are the reasons that most processes have not to be read.
func ordinary(err error) bool {
	var refused *process.Refusal
	return errors.Is(err, ErrNoProbe) || errors.Is(err, process.ErrGone) || errors.As(err, &refused)
}
