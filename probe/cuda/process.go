//go:build linux && cgo

package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Process holds memory of one device in a pattern. One goroutine uses it, which Start locks to a
// thread and Close unlocks: the CUDA context is current on that thread. A call may hang in the driver.
type Process struct {
	device   Device
	timeline timeline
	started  time.Time
	holding  *holding
}

// The pattern moves in steps, with a limited number of allocations and frees each, so that Run soon
// notices the end of its context.
const (
	stepTime  = 50 * time.Millisecond
	stepCalls = 256
)

// Start loads the driver, chooses a device, and makes a context and a pool on it.
func Start(o Options) (*Process, error) {
	divided, err := newPlan(o.Pattern, o.Size, o.Seed)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	p := &Process{timeline: timeline{pattern: o.Pattern, seed: o.Seed, blocks: divided.blocks - divided.permanent, length: o.Length}}
	runtime.LockOSThread()
	if err := p.open(&o, divided); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	p.started = time.Now()
	return p, nil
}

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

// admit refuses a size that would leave less than spare free.
func (p *Process) admit(d *device, o *Options) error {
	free, err := d.free()
	if err == nil && o.Size > free-spare {
		err = &SizeError{Device: p.device, Size: o.Size, Free: free}
	}
	return err
}

func (p *Process) Device() Device { return p.device }

// Run plays the pattern until the context ends, when it returns nil, or until a call fails.
func (p *Process) Run(ctx context.Context) error {
	ticker := time.NewTicker(stepTime)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := p.step(time.Since(p.started)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}

func (p *Process) step(at time.Duration) error {
	if err := p.holding.step(&p.timeline, at, stepCalls); err != nil {
		return fmt.Errorf("cuda: play the pattern on %s: %w", p.device.UUID, err)
	}
	return nil
}

// Close frees everything and releases the context. It is called once.
func (p *Process) Close() error {
	defer runtime.UnlockOSThread()
	if err := cmp.Or(p.holding.release(), p.holding.device.close()); err != nil {
		return fmt.Errorf("cuda: close %s: %w", p.device.UUID, err)
	}
	return nil
}
