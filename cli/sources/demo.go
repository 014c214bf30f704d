package sources

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"syscall"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
)

// replay is the clock of a simulated box: in the past until the sampler has caught up, then real.
type replay struct {
	mu     sync.Mutex
	at     time.Time
	behind bool
	now    func() time.Time
}

func (r *replay) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind {
		return r.at
	}
	return r.now()
}

// advance moves the clock on while it is in the past, and reports whether it still is.
func (r *replay) advance(step time.Duration) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind {
		r.at = r.at.Add(step)
		r.behind = r.at.Before(r.now())
	}
	return r.at, r.behind
}

// CatchUp samples the past of a simulated box.
func (src *Set) CatchUp(sampling *sampler.Sampler, step time.Duration) {
	if src.replay == nil {
		return
	}
	for at, past := src.replay.advance(0); past; at, past = src.replay.advance(step) {
		sampling.Tick(at)
	}
}

// Simulate makes the sources those of a simulated box that has already run for past: its prelude and,
// if that is shorter, a part of its story.
func (src *Set) Simulate(o simulator.Options, past time.Duration, now func() time.Time) *simulator.Box {
	clock := &replay{at: now().Add(-past), behind: past > 0, now: now}
	o.Clock, o.Prelude = clock.Now, min(cmp.Or(o.Prelude, past), simulator.MaxPrelude)
	box := simulator.New(o)
	src.Options.Clock, src.replay = clock.Now, clock
	src.Driver = &driverSource{DeviceReader: box}
	src.Signal = func(_ context.Context, id process.Identity, signal syscall.Signal) error {
		return box.Signal(id, signal)
	}
	src.flushes, src.Segments, src.holds = &simulatedProbes{box}, simulatedSegments(box), simulatedHolds(box)
	src.Options.Devices, src.Options.Probes, src.Options.Processes, src.Options.Simulated = src.Driver, box, box, true
	return box
}

// A simulated flush takes about as long as a driver needs.
const (
	simulatedFlushTime = 4 * time.Millisecond
	simulatedGiBTime   = 6 * time.Millisecond // for each GiB
)

// simulatedProbes flush the processes of a simulated box. A flush frees the whole cache of a process,
// and evicts nothing.
type simulatedProbes struct{ *simulator.Box }

func (b *simulatedProbes) Flush(ctx context.Context, id process.Identity, request probe.FlushRequest) (probe.FlushResult, error) {
	result := probe.FlushResult{Level: request.Level, DryRun: request.DryRun}
	flushed, err := b.Box.Flush(id, request.DryRun)
	if err != nil {
		return result, err
	}
	took := simulatedFlushTime + simulatedGiBTime*time.Duration(flushed.FreedBytes/quantity.MiB)/1024
	bounded.Sleep(ctx, took)
	result.Milliseconds = float64(took) / float64(time.Millisecond)
	result.Devices = []probe.Flushed{flushed}
	return result, nil
}

// Answers implements flush.Prober: a simulated probe has always just answered.
func (b *simulatedProbes) Answers() []probe.Answer {
	answers := b.Box.Answers()
	for i := range answers {
		if answers[i].Err == nil {
			answers[i].At = time.Now()
		}
	}
	return answers
}

func simulatedSegments(box *simulator.Box) mapper {
	return func(_ context.Context, id process.Identity, devices ...string) (probe.Segments, error) {
		found, err := box.Segments(id)
		found.Devices = slices.DeleteFunc(found.Devices, func(d probe.DeviceSegments) bool {
			return len(devices) > 0 && !slices.Contains(devices, d.UUID)
		})
		return found, err
	}
}

// DemoPast is the past of a simulated box, which fills the graph and the sparklines, and in which the
// forecaster recognises the leak.
const DemoPast = 12 * time.Minute
