//go:build linux && cgo

package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Process holds memory of one device in a pattern.
type Process struct {
	device   Device
	timeline timeline
	started  time.Time
	thread   *thread
	holding  *holding // on the thread
	figures  Figures  // after the last step
}

// The pattern moves in steps, with a limited number of allocations and frees each,
// so that the end need not wait long.
const (
	stepTime  = 50 * time.Millisecond
	stepCalls = 256
)

// Start loads the driver, chooses a device, makes a context on it and allocates the
// permanent blocks. A driver that hangs is abandoned when the context ends.
func Start(ctx context.Context, o Options) (*Process, error) {
	divided, err := newPlan(o.Pattern, o.Size, o.Seed)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	p := &Process{
		timeline: timeline{pattern: o.Pattern, seed: o.Seed, blocks: divided.blocks, length: o.Length},
		thread:   newThread(),
	}
	opened, err := callOn(ctx, p.thread, "start", func() (*Process, error) {
		// p is shared only after this returns: a cancelled caller does not use it.
		return p, p.open(&o, divided)
	})
	if err != nil {
		p.thread.stop()
		return nil, err
	}
	opened.started = time.Now()
	return opened, nil
}

// open runs on the thread.
func (p *Process) open(o *Options, divided plan) error {
	driver, err := open(o.Library)
	if err != nil {
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
		return fmt.Errorf("cuda: on %s: %w", p.device.UUID, errors.Join(err, used.close()))
	}
	return nil
}

// admit refuses a size that would leave less than spare.
func (p *Process) admit(d *device, o *Options) error {
	free, err := d.free()
	if err != nil {
		return err
	}
	if o.Size <= free-spare {
		return nil
	}
	fits := down(max(free-spare, 0), chunk)
	if fits < SmallestSize {
		fits = 0
	}
	return &SizeError{Device: p.device, Size: o.Size, Free: free, Fits: fits}
}

func (p *Process) Device() Device { return p.device }

// Run plays the pattern until the context ends, and then returns nil.
func (p *Process) Run(ctx context.Context) error {
	ticker := time.NewTicker(stepTime)
	defer ticker.Stop()
	for {
		err := p.step(ctx, time.Since(p.started))
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
	figures, err := callOn(ctx, p.thread, "play the pattern", func() (Figures, error) {
		if err := p.holding.step(&p.timeline, at, stepCalls); err != nil {
			return Figures{}, err
		}
		return p.holding.update()
	})
	if err == nil {
		p.figures = figures
	}
	if err != nil && !errors.Is(err, ErrBusy) {
		return fmt.Errorf("cuda: play the pattern on %s: %w", p.device.UUID, err)
	}
	return err
}

func (p *Process) Figures() Figures { return p.figures }

// Close frees everything and releases the context. It is called once, when the process is no longer
// in use. If the driver does not answer in time, the end of the program frees everything.
func (p *Process) Close(ctx context.Context) error {
	_, err := callOn(ctx, p.thread, "free everything", func() (struct{}, error) {
		return struct{}{}, cmp.Or(p.holding.release(), p.holding.device.close())
	})
	p.thread.stop()
	if err != nil {
		return fmt.Errorf("cuda: close %s: %w", p.device.UUID, err)
	}
	return nil
}
