package sources

import (
	"context"
	"sync"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/process"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// LookOnce sets the timeouts of a command that samples only once, and makes the sample wait for probes.
func (src *Set) LookOnce() {
	src.Options.OpenDeadline, src.Options.Deadline = OnceOpening, OnceReading
	if src.Watcher != nil {
		src.Watcher.First = onceNaming
	}
	if src.Table != nil {
		src.Table.Timeout = onceNaming
	}
	if src.Probes != nil {
		src.Options.Probes = &settled{src.Options.Probes, sync.OnceFunc(func() {
			ctx, cancel := context.WithTimeout(context.Background(), OnceProbing)
			defer cancel()
			src.Probes.Settle(ctx)
			if src.Daemon != nil {
				src.Daemon.Settle(ctx)
			}
		})}
	}
}

// GPUs samples all GPUs, without processes.
func (src *Set) GPUs() *snapshot.Snapshot {
	src.LookOnce()
	src.Library.WithoutProcesses()
	src.Options.Only, src.Options.Probes, src.Options.Servers, src.Options.Single = nil, nil, nil, true
	return sampler.New(src.Options).Tick(src.Options.Clock())
}

// ListenFor reads the probes until end is called, which waits until the reading has stopped. The
// context ends then, or when reading fails.
func (src *Set) ListenFor(ctx context.Context) (listening context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	waitForProbes := src.Listen(ctx, cancel)
	return ctx, func() {
		cancel(nil)
		waitForProbes()
	}
}

// Look samples for a command that samples once. It samples again while a report is doubted or
// skewed: the probe's new figures and the driver's next readings distinguish a process that grew from
// a probe that lies.
func (src *Set) Look(ctx context.Context, sampling *sampler.Sampler) *snapshot.Snapshot {
	const most, pause = 20, 100 * time.Millisecond // limited, because in each sample other reports can be doubted
	began := time.Now()
	command.CollectLate()
	snap := sampling.Tick(src.Options.Clock())
	for i := 1; i < most && ctx.Err() == nil; i++ {
		doubted, skewed := src.unsettled(snap)
		if len(doubted) == 0 && (len(skewed) == 0 || time.Since(began) > most/2*pause) {
			break
		}
		if i > 1 {
			time.Sleep(pause)
		}
		if src.Probes != nil {
			src.Probes.Renew(ctx, append(doubted, skewed...))
		}
		snap = sampling.Tick(src.Options.Clock())
	}
	return snap
}

// unsettled returns the processes whose reports are doubted, and those whose reports are skewed. The
// process on which a command acts counts as skewed until its probe answers.
func (src *Set) unsettled(snap *snapshot.Snapshot) (doubted, skewed []process.Identity) {
	for i := range snap.Rows {
		switch p := &snap.Rows[i]; {
		case p.Probe == nil:
		case p.Probe.Doubted:
			doubted = append(doubted, p.ID.Process)
		case !p.Probe.ByDaemon && (p.Probe.Skewed || p.Probe.State == snapshot.ProbeSilent && p.ID.Process.PID == src.Asked):
			skewed = append(skewed, p.ID.Process)
		}
	}
	return doubted, skewed
}

// OnceProbing is the timeout for all probes together. On a busy machine, hundreds of probes take a second.
const OnceProbing = OnceReading

// settled is a reader that first waits until all probes have been asked.
type settled struct {
	sampler.ProbeReader
	wait func()
}

func (s *settled) Unasked() int {
	s.wait()
	return s.ProbeReader.Unasked()
}

func (s *settled) Answers() []probe.Answer {
	s.wait()
	return s.ProbeReader.Answers()
}

// Observe takes a snapshot after watching. It leaves the driver open, because the program ends.
func (src *Set) Observe(ctx context.Context, sampling *sampler.Sampler, watch time.Duration) (*snapshot.Snapshot, error) {
	if watch == 0 {
		ctx, end := src.ListenFor(ctx)
		defer end()
		snap := src.Look(ctx, sampling)
		return snap, src.Unusable(snap)
	}
	return src.ObserveUntil(ctx, sampling, watch, func(*snapshot.Snapshot) bool { return false })
}

// ObserveUntil samples until enough accepts a snapshot, at most for limit, and returns the last one.
func (src *Set) ObserveUntil(ctx context.Context, sampling *sampler.Sampler, limit time.Duration, enough func(*snapshot.Snapshot) bool) (*snapshot.Snapshot, error) {
	ctx, end := src.ListenFor(ctx)
	defer end()
	finished := make(chan error, 1)
	go func() { finished <- sampling.Run(ctx) }()
	over := time.After(limit)
	for first := true; ; first = false {
		select {
		case <-sampling.Updates():
			snap := sampling.Latest()
			if first {
				if err := src.Unusable(snap); err != nil {
					return snap, err
				}
			}
			if enough(snap) {
				return snap, nil
			}
		case err := <-finished:
			return nil, err
		case <-over:
			return sampling.Latest(), nil
		}
	}
}
