//go:build linux && cgo

package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Process is a probe process's hold on one device. It is the probe.Handler
// that tells of it and flushes it.
type Process struct {
	device  Device
	version string
	story   story
	clock   func() time.Time
	started time.Time
	thread  *thread
	holding *holding // on the thread

	mu     sync.Mutex
	newest Figures
}

// How a pattern is played: so often, and at most so many allocations and
// frees at a time, so that whoever asks meanwhile need not wait long.
const (
	stepTime  = 50 * time.Millisecond
	stepCalls = 256
)

// Start loads the driver, chooses a device, makes a context on it and takes
// what is permanent of the pattern. A driver that hangs is left behind when
// the context ends.
func Start(ctx context.Context, o Options) (*Process, error) {
	divided, err := newPlan(o.Pattern, o.Size, o.Seed)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	p := &Process{
		story:  story{pattern: o.Pattern, seed: o.Seed, blocks: divided.blocks, length: o.Length},
		clock:  o.Clock,
		thread: newThread(),
	}
	if p.clock == nil {
		p.clock = time.Now
	}
	opened, err := on(ctx, p.thread, "start", func() (*Process, error) {
		// p is nobody else's until this has come back: a caller that has given
		// up has no use for it.
		return p, p.open(&o, divided)
	})
	if err != nil {
		p.thread.stop()
		return nil, err
	}
	opened.started = opened.clock()
	return opened, nil
}

// open runs on the thread.
func (p *Process) open(o *Options, divided plan) error {
	driver, err := open(o.Library)
	if err != nil {
		return err
	}
	if p.version, err = driver.version(); err != nil {
		return err
	}
	devices, err := driver.devices()
	if err != nil {
		return err
	}
	if p.device, err = o.Choose(devices); err != nil {
		return err
	}
	used, err := driver.use(p.device.Ordinal)
	if err != nil {
		return fmt.Errorf("cuda: open %s: %w", p.device.UUID, err)
	}
	if err = p.admit(used, o); err == nil {
		p.holding, err = hold(used, divided)
	}
	if err != nil {
		return fmt.Errorf("cuda: on %s: %w", p.device.UUID, errors.Join(err, used.leave()))
	}
	return nil
}

// admit refuses a size that would leave too little for others.
func (p *Process) admit(d *device, o *Options) error {
	free, err := d.free()
	if err != nil {
		return err
	}
	if o.Size <= free-leave {
		return nil
	}
	fits := down(max(free-leave, 0), chunk)
	if fits < SmallestSize {
		fits = 0
	}
	return &SizeError{Device: p.device, Size: o.Size, Free: free, Fits: fits}
}

// Device is the one in use.
func (p *Process) Device() Device { return p.device }

// Run plays the pattern until the context ends, which is no error.
func (p *Process) Run(ctx context.Context) error {
	ticker := time.NewTicker(stepTime)
	defer ticker.Stop()
	for {
		err := p.step(ctx, p.clock().Sub(p.started))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (p *Process) step(ctx context.Context, at time.Duration) error {
	_, err := on(ctx, p.thread, "play the pattern", func() (struct{}, error) {
		if err := p.holding.step(&p.story, at, stepCalls); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, p.look()
	})
	if err != nil && !errors.Is(err, ErrBusy) {
		return fmt.Errorf("cuda: play the pattern on %s: %w", p.device.UUID, err)
	}
	return err
}

// look runs on the thread.
func (p *Process) look() error {
	figures, err := p.holding.look()
	if err != nil {
		return err
	}
	figures.Time = p.clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	figures.Flushes, figures.Flushed = p.newest.Flushes, p.newest.Flushed
	p.newest = figures
	return nil
}

// Figures are the newest there are. It does not wait for the driver.
func (p *Process) Figures() Figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest
}

// Close gives everything back and lets the context go. It may be called once,
// when nobody uses the process any more. Where the driver does not answer in
// time, the end of the program has to do it.
func (p *Process) Close(ctx context.Context) error {
	_, err := on(ctx, p.thread, "give everything back", func() (struct{}, error) {
		return struct{}{}, cmp.Or(p.look(), p.holding.release(), p.holding.device.leave())
	})
	p.thread.stop()
	if err != nil {
		return fmt.Errorf("cuda: close %s: %w", p.device.UUID, err)
	}
	return nil
}
