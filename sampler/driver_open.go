package sampler

import (
	"errors"
	"slices"
	"time"

	"vramscope/internal/panics"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

type openResult struct {
	driver  nvml.Driver
	devices []nvml.Device
	err     error
	panic   *panics.Caught
}

// backoff is the time until the next try: 1, 2, 4, 8, 16, 30, 30… s.
type backoff struct{ tries int }

func (b *backoff) next() time.Duration {
	b.tries++
	return min(time.Second<<min(b.tries-1, 5), 30*time.Second)
}

type access uint8

const (
	open      access = iota
	opening          // the driver was closed, not lost, and is being opened again
	openHangs        // opening takes longer than openTimeout
	away
)

func (d *driver) access(now time.Time) access {
	switch {
	case d.isOpen:
		return open
	case d.state.State != snapshot.DriverOK:
		return away
	case d.opened != nil && now.Sub(d.openedAt) >= openTimeout:
		return openHangs
	default:
		return opening
	}
}

// openTimeout is the time after which an Open counts as hanging. A driver that has to wake its
// GPUs needs seconds.
const openTimeout = 10 * time.Second

// ensureOpen opens the driver when that is due. It waits for the first Open up to OpenDeadline, and
// for half of a GPU's deadline if a working driver is opened again. Otherwise ensureOpen waits only
// 50 ms, so that the screen is updated.
func (d *driver) ensureOpen(now time.Time, interval time.Duration) {
	first := !d.asked
	if !d.isOpen && d.opened == nil && !now.Before(d.state.RetryAt) {
		d.asked, d.openedAt = true, now
		d.opened = make(chan openResult, 1)
		go func(out chan<- openResult, reader DeviceReader) {
			var r openResult
			defer func() { r.panic = panics.Catch(recover()); out <- r }()
			r.driver, r.devices, r.err = reader.Open()
		}(d.opened, d.reader)
	}
	if d.opened == nil {
		return
	}
	timeout := 50 * time.Millisecond
	switch {
	case first:
		timeout = max(d.options.OpenDeadline, d.options.deadline(defaultInterval))
	case d.access(now) == opening:
		timeout = max(timeout, d.options.deadline(interval)/2)
	}
	select {
	case r := <-d.opened:
		d.opened = nil
		r.panic.Again()
		d.takeOpen(now, r)
	case <-time.After(timeout):
	}
}

func (d *driver) takeOpen(now time.Time, r openResult) {
	if r.err != nil {
		d.lose(now, r.err)
		return
	}
	d.isOpen, d.everOK = true, true
	d.backoff = backoff{}
	if d.state.State != snapshot.DriverOK {
		d.state.Since = now
	}
	d.state.State, d.state.Message, d.state.RetryAt, d.state.Err = snapshot.DriverOK, "", time.Time{}, nil
	d.state.Version, d.state.CUDAVersion = r.driver.Version, r.driver.CUDAVersion
	for _, g := range d.gpus {
		g.listed = false
	}
	d.devices = max(d.devices, len(r.devices))
	for _, device := range r.devices {
		if d.wanted(device.Index, device.UUID) {
			d.list(now, device)
		}
	}
	d.gpus = slices.DeleteFunc(d.gpus, d.superseded)
	slices.SortFunc(d.gpus, func(a, b *gpu) int { return a.device.Index - b.device.Index })
}

// closeReader closes the driver. It returns false if calls in progress keep the driver open.
func (d *driver) closeReader() bool {
	if d.opened != nil || slices.ContainsFunc(d.gpus, func(g *gpu) bool { return g.busy }) {
		return false
	}
	closed := make(chan error, 1)
	go func() {
		err, _ := panics.Of(d.reader.Close)
		closed <- err
	}()
	select {
	case err := <-closed:
		if errors.Is(err, nvml.ErrBusy) {
			return false
		}
	case <-time.After(300 * time.Millisecond):
	}
	d.isOpen = false
	return true
}

// close closes the driver at the end of Run, and while the sampler is suspended.
func (d *driver) close() {
	d.takeLate(time.Time{})
	select {
	case r := <-d.opened:
		d.opened, d.isOpen = nil, r.err == nil && r.panic == nil
	default:
	}
	if d.isOpen {
		d.closeReader()
	}
}
