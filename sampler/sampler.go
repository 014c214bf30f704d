package sampler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"vramscope/internal/panics"
	"vramscope/sampler/alert"
	"vramscope/sampler/history"
	"vramscope/sampler/snapshot"
)

// Sampler reads its sources on a clock and publishes Snapshots. One goroutine ticks (by Run, or by
// calls of Tick); any goroutine may call the other exported methods.
type Sampler struct {
	options Options

	// Owned by the ticking goroutine.
	driver       *driver
	rows         map[snapshot.RowID]*row
	failures     map[snapshot.RowID]*failures
	reports      map[snapshot.RowID]*reports
	byPID        map[int]*identified
	ended        []snapshot.EndedProcess // newest first
	failed       []snapshot.Event        // oldest first
	alerts       *alert.Evaluator
	rulesApplied time.Time
	standing     []snapshot.Alert     // the alerts of the last application of the rules
	logged       []snapshot.Alert     // alerts logged as raised, and not yet as cleared
	down         map[string]time.Time // by UUID: since when a GPU has been down
	probeSeen    bool
	probeOnly    []probeOnlyGPU
	sequence     uint64
	holders      holders
	habits       habits
	began        time.Time // Options.Since, or the first tick; nothing earlier is logged as an event

	history *history.History
	latest  atomic.Pointer[snapshot.Snapshot]
	updates chan struct{}

	interval  atomic.Int64
	control   chan func()
	suspended atomic.Bool
	beside    atomic.Pointer[time.Time] // a tick of the other clock: see Align; nil if there is none
}

// New returns a Sampler, which reads no source until Run or Tick is called.
func New(options Options) *Sampler {
	options = options.withDefaults()
	remembered := history.New()
	s := &Sampler{
		options:  options,
		driver:   newDriver(options),
		rows:     make(map[snapshot.RowID]*row),
		failures: make(map[snapshot.RowID]*failures),
		reports:  make(map[snapshot.RowID]*reports),
		byPID:    make(map[int]*identified),
		alerts:   alert.New(options.LowMemory, remembered),
		down:     make(map[string]time.Time),
		history:  remembered,
		updates:  make(chan struct{}, 1),
		began:    options.Since,
		control:  make(chan func()),
	}
	s.interval.Store(int64(options.Interval))
	return s
}

// Latest returns the newest snapshot, nil before the first tick.
func (s *Sampler) Latest() *snapshot.Snapshot { return s.latest.Load() }

// Updates returns a channel that gets a value with each new snapshot. The channel holds one value:
// a slow reader misses snapshots, but never the newest.
func (s *Sampler) Updates() <-chan struct{} { return s.updates }

func (s *Sampler) History() *history.History { return s.history }

func (s *Sampler) Interval() time.Duration { return time.Duration(s.interval.Load()) }

// SetInterval changes the time between ticks, within MinInterval and MaxInterval.
func (s *Sampler) SetInterval(interval time.Duration) {
	s.interval.Store(int64(min(max(interval, MinInterval), MaxInterval)))
	go s.do(func() {}) // wakes the loop, which then reads the interval
}

// Align makes the ticks coincide with those of another clock of this process, so that the process
// wakes up once for both. The other clock ticks every second and ticked at the given time.
func (s *Sampler) Align(at time.Time) { s.beside.Store(&at) }

// Run ticks until the context ends, then closes the driver. It returns nil if the context was cancelled. A
// panic while sampling is an error with its stack, so that the caller can restore the terminal.
func (s *Sampler) Run(ctx context.Context) (err error) {
	defer func() {
		if c := panics.Catch(recover()); c != nil {
			err = fmt.Errorf("sampler: panic: %w", c)
		}
	}()
	defer s.driver.close() // may panic with a reading that came late
	next, first := time.Now(), s.Latest() == nil
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		case act := <-s.control:
			act()
		case <-timer.C:
			if s.suspended.Load() {
				s.driver.close() // a tick in progress may have kept Suspend from closing it
			} else {
				if !first {
					time.Sleep(wakeUp)
				}
				snap := s.Tick(s.options.Clock())
				next = s.aligned(next)
				if first && isPreliminary(snap) {
					next = time.Now().Add(min(s.Interval(), secondTick) - s.Interval())
				}
				first = false
			}
			next = next.Add(s.Interval())
		}
		// Ticks missed by a slow tick or a suspended machine are not repeated. A shorter interval
		// counts at once.
		if now := time.Now(); next.Before(now) || next.Sub(now) > s.Interval() {
			next = now.Add(s.Interval())
		}
		timer.Reset(time.Until(next))
	}
}

// aligned moves t back to a moment that fits the other clock.
func (s *Sampler) aligned(t time.Time) time.Time {
	at := s.beside.Load()
	if at == nil {
		return t
	}
	period := s.Interval()
	if period%time.Second == 0 {
		period = time.Second
	}
	off := t.Sub(*at) % period
	if off < 0 {
		off += period
	}
	return t.Add(-off)
}

// wakeUp is the pause between waking up and reading. Without the pause, the monitor thread of Go's
// runtime looks at the other threads every 20 µs for some 4 ms; with it, the thread looks again
// after 10 ms (runtime.sysmon in https://go.dev/src/runtime/proc.go).
const wakeUp = 2 * time.Millisecond

// secondTick is how soon the second tick follows a preliminary first tick, which waits only briefly
// for names, and has just one reading to compare reports with.
const secondTick = 250 * time.Millisecond

func isPreliminary(snap *snapshot.Snapshot) bool {
	return slices.ContainsFunc(snap.Rows, func(p snapshot.Process) bool {
		return !p.ID.Process.Foreign() && (p.User == "" || len(p.Command) == 0) || p.Probe != nil && p.Probe.Doubted
	})
}

// Suspend stops ticking and closes the driver, so that the driver can be unloaded and a laptop's GPU can
// sleep. Suspend waits at most doTimeout for a tick in progress.
func (s *Sampler) Suspend() {
	s.suspended.Store(true)
	s.do(s.driver.close)
}

// Resume starts ticking again; the next tick opens the driver.
func (s *Sampler) Resume() {
	s.suspended.Store(false)
	go s.do(func() { s.driver.state.RetryAt = time.Time{} })
}

// The limits on waiting for a tick in progress, which may wait for a driver that hangs.
const (
	doTimeout   = 300 * time.Millisecond
	warmTimeout = 3 * time.Second
)

// do runs act on the ticking goroutine between two ticks, unless a tick takes longer than doTimeout.
func (s *Sampler) do(act func()) { s.doWithin(doTimeout, act) }

func (s *Sampler) doWithin(limit time.Duration, act func()) {
	done := make(chan struct{})
	timeout := time.After(limit)
	select {
	case s.control <- func() { act(); close(done) }:
	case <-timeout:
		return
	}
	select {
	case <-done:
	case <-timeout:
	}
}

// Note adds an event to the log, for example a signal that was sent or a flush.
func (s *Sampler) Note(event snapshot.Event) { s.history.Append(event) }

// Tick takes a sample of all sources, and publishes and returns the snapshot.
func (s *Sampler) Tick(now time.Time) *snapshot.Snapshot {
	if s.began.IsZero() {
		s.began = now
	}
	readings := s.driver.read(now, s.Interval())
	merged := s.merge(now, readings)
	snap := &snapshot.Snapshot{
		Sequence:  s.sequence,
		Time:      now,
		Interval:  s.Interval(),
		Simulated: s.options.Simulated,
		Host:      s.options.Processes.Host(now),
		Driver:    s.driver.state,
		Rows:      merged.rows,
		Ended:     s.recentlyEnded(now, merged.ended),
		Failures:  s.recentlyFailed(now),
		ProbeSeen: s.probeSeen,

		ProbesUnasked: merged.probesUnasked,

		Forecasting: true,
	}
	snap.Driver.ProbesAnswering = merged.probesAnswering
	snap.GPUs = s.gpus(now, readings, merged)
	s.nameHolders(now, snap)
	s.nameAllocations(now, snap)
	if s.options.Servers != nil {
		for _, e := range s.options.Servers(snap) {
			s.history.Append(e)
		}
	}
	snap.Alerts = s.applyRules(now, snap)
	s.agree(snap)
	if s.options.Guard != nil {
		snap.Guard = s.options.Guard(snap)
	}
	if s.options.RecordingPaused != nil {
		snap.RecordingPaused = s.options.RecordingPaused()
	}

	if !s.options.Single {
		s.history.Record(now, snap)
	}
	s.sequence++
	s.latest.Store(snap)
	select {
	case s.updates <- struct{}{}:
	default:
	}
	return snap
}

// Refresh takes a sample between two ticks of the clock and returns its snapshot. While the
// sampler is suspended, or if the context ends first, it returns the newest snapshot.
func (s *Sampler) Refresh(ctx context.Context) *snapshot.Snapshot {
	done := make(chan *snapshot.Snapshot, 1)
	sample := func() {
		if s.suspended.Load() {
			done <- s.Latest()
			return
		}
		done <- s.Tick(s.options.Clock())
	}
	select {
	case s.control <- sample:
	case <-ctx.Done():
		return s.Latest()
	}
	select {
	case snap := <-done:
		return snap
	case <-ctx.Done():
		return s.Latest()
	}
}

// SampleNow takes a sample at once, unless the sampler is suspended. It tries a lost driver and
// GPUs that failed even if their next try is not due yet.
func (s *Sampler) SampleNow() {
	s.do(func() {
		if s.suspended.Load() {
			return
		}
		s.driver.state.RetryAt = time.Time{}
		for _, g := range s.driver.gpus {
			g.retryAt = time.Time{}
		}
		s.Tick(s.options.Clock())
	})
}
