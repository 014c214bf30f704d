package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/panics"
	"vramscope/internal/process"
	"vramscope/internal/sorted"
)

// Monitor connects to the probes that it finds, asks each of them for stats every second or two,
// and keeps the newest answers.
//
//	directories of sockets ─┐ scan                    one goroutine each, own deadline
//	the driver's pids ──────┴→ tasks ── connected ──→ session ── hello, stats, stats … ──→ Answers
//	                          (bounded)                  ↑ Ask, Flush
//
// A slow or hostile probe affects only its own session, which has one connection, one
// outstanding request, one line and one report.
type Monitor struct {
	finder       *Finder
	clock        func() time.Time
	interval     time.Duration
	scanInterval time.Duration
	own          []string // the directories that are always scanned
	wider        bool     // whether the directories found by findOthers are scanned, too
	everyone     bool     // whether every user's directories are scanned, as root

	wake      chan struct{}
	scanned   atomic.Int64 // when the last scan began, in nanoseconds since 1970
	panics    chan error   // the first panic of a goroutine, with its stack
	running   sync.WaitGroup
	published atomic.Pointer[[]*probeProcess] // byProcess, readable without the lock

	mu         sync.Mutex
	changed    *sync.Cond
	dirty      bool         // something has changed since the last scan
	pending    int          // tasks, searches and first exchanges in progress
	searching  int          // goroutines that search for pids; pending includes them
	unsearched []int        // pids that are due, and that no search has taken yet
	wanted     map[int]bool // listed pids that had no connection at the last scan, and have had none since
	byProcess  map[process.Key]*probeProcess
	listed     map[string][]int // the driver's pids, by GPU
	attempts   map[target]*attempt
	others     map[string]uint32 // directories that findOthers has found, and their users
	othersAt   time.Time
}

const (
	defaultInterval     = time.Second
	defaultScanInterval = time.Second

	maxProbes        = 2048
	maxProbesPerUser = 1024 // so that one user alone cannot reach maxProbes
	maxSearches      = 48
	maxNames         = 512 // sockets and records considered in one directory
	maxRecords       = 64  // per directory, and per user

	// A process is forgotten at the latest this long after its connection has ended. A sampler with
	// the longest interval, a minute, has read the last answer by then.
	forgetTime = 65 * time.Second
	// Run waits this long for its goroutines to end: one that hangs in the kernel is left behind.
	joinTime = 500 * time.Millisecond
)

// NewMonitor makes a Monitor; Run starts it. A nil clock is time.Now. If directories is nil, the
// Monitor scans this user's directories for sockets, and as root every user's.
func NewMonitor(finder *Finder, clock func() time.Time, directories []string) *Monitor {
	m := &Monitor{
		finder:       finder,
		clock:        clock,
		interval:     defaultInterval,
		scanInterval: defaultScanInterval,
		own:          directories,
		wake:         make(chan struct{}, 1),
		panics:       make(chan error, 1),
		dirty:        true,
		byProcess:    make(map[process.Key]*probeProcess),
		listed:       make(map[string][]int),
		attempts:     make(map[target]*attempt),
		wanted:       make(map[int]bool),
		others:       make(map[string]uint32),
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
		m.wider, m.everyone = true, finder.uid == 0
	}
	m.published.Store(&[]*probeProcess{})
	return m
}

// Run finds and reads probes until the context ends. It is called once. A panic on one of its
// goroutines becomes a panic of Run.
func (m *Monitor) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	overdue := time.NewTimer(0)
	defer overdue.Stop()
	for {
		m.scanned.Store(time.Now().UnixNano())
		m.scan(ctx)
		overdue.Reset(2 * m.scanInterval)
		select {
		case <-ctx.Done():
			bounded.Wait(&m.running, joinTime)
			select {
			case err := <-m.panics:
				panic(err)
			default:
				return
			}
		case err := <-m.panics:
			panic(err)
		case <-overdue.C:
		case <-m.wake:
		}
	}
}

// start runs a goroutine of the monitor, and hands its panic to Run.
func (m *Monitor) start(act func()) {
	m.running.Go(func() {
		defer func() {
			if caught := panics.Catch(recover()); caught != nil {
				select {
				case m.panics <- caught:
				default: // Run has one already
				}
			}
		}()
		act()
	})
}

// Answers returns the newest answers of all probes, ordered by pid. The Answer of a probe that has
// not answered yet has no report. It never waits.
func (m *Monitor) Answers() []Answer {
	probes := *m.published.Load()
	answers := make([]Answer, len(probes))
	for i, p := range probes {
		answers[i] = *p.answer.Load()
	}
	return answers
}

// Ask asks every probe now, unless the last Ask was less than an interval ago. A caller that reads
// the driver at the same time gets two readings that can be compared. Without Ask, a probe is asked
// once in two intervals. Ask also starts a scan if one is due. It never waits.
func (m *Monitor) Ask() {
	if time.Since(time.Unix(0, m.scanned.Load())) >= m.scanInterval-m.scanInterval/20 {
		m.wakeUp()
	}
	for _, p := range *m.published.Load() {
		select {
		case p.asked <- struct{}{}:
		default:
		}
	}
}

// Listed sets the processes that the driver lists on a GPU. The monitor searches for their probes
// in their own mount namespaces. Listed waits for no probe.
func (m *Monitor) Listed(gpu string, pids []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Equal(m.listed[gpu], pids) {
		return
	}
	if m.listed[gpu] = slices.Clone(pids); len(pids) == 0 {
		delete(m.listed, gpu)
	}
	m.scanNow()
}

// scanNow makes the next scan run at once. The lock is held.
func (m *Monitor) scanNow() {
	m.dirty = true
	m.wakeUp()
}

func (m *Monitor) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default: // Run is about to scan
	}
}

// Flush makes a process free cached memory, over the connection that its stats are read from. It
// refuses if the identity no longer matches.
func (m *Monitor) Flush(ctx context.Context, id process.Identity, request FlushRequest) (FlushResult, error) {
	if err := stillThere(m.finder.table, id); err != nil {
		return FlushResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, FlushDeadline)
	defer cancel()
	result, err := m.give(ctx, id.Key(), job{request: request})
	if err != nil {
		err = fmt.Errorf("probe: flush PID %d: %w", id.PID, err)
	}
	return result, err
}

// give passes a job to a probe's session and waits until it is done.
func (m *Monitor) give(ctx context.Context, key process.Key, j job) (FlushResult, error) {
	m.mu.Lock()
	p := m.byProcess[key]
	var ended <-chan struct{}
	if p != nil {
		ended = p.ended
	}
	m.mu.Unlock()
	if ended == nil {
		return FlushResult{}, ErrNoProbe
	}
	done := make(chan flushed, 1)
	j.ctx, j.done = ctx, done
	select {
	case p.jobs <- j:
	case <-ended:
		return FlushResult{}, errClosed
	case <-ctx.Done():
		err := ctx.Err()
		if errors.Is(err, context.DeadlineExceeded) {
			err = ErrUnsent
		}
		return FlushResult{}, err
	}
	f := <-done // comes before the job's context ends, or soon after
	return f.result, f.err
}

// Renew asks the probes of these processes for current figures, and waits for their answers.
func (m *Monitor) Renew(ctx context.Context, processes []process.Identity) {
	var asking sync.WaitGroup
	for _, id := range processes {
		asking.Go(func() { _, _ = m.give(ctx, id.Key(), job{fresh: true}) }) // Answer.Err has the error of an exchange
	}
	asking.Wait()
}

// Problem is why a directory, a socket or the probe of a process cannot be read.
type Problem struct {
	PID  int    // 0 if only the path is known
	Path string // "" if only the process is known
	Err  error
}

// Problems lists the errors that the user should know, by pid and path.
func (m *Monitor) Problems() []Problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Problem
	for t, a := range m.attempts {
		if a.err != nil && !ordinary(a.err) {
			found = append(found, Problem{PID: t.pid, Path: t.path(), Err: a.err})
		}
	}
	sorted.Stable(found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Path, b.Path))
	})
	return found
}

// ordinary reports whether an error is usual: most processes have no probe.
func ordinary(err error) bool {
	_, refused := errors.AsType[*process.Refusal](err)
	return refused || errors.Is(err, ErrNoProbe) || errors.Is(err, errOldRecord) || errors.Is(err, process.ErrExited)
}
