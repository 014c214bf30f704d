package sampler

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/panics"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// driver keeps the driver open and its GPUs read. A GPU that is lost or hangs
// keeps its place and is tried again, ever more seldom; so is a driver that is
// lost.
//
// Open and Read run on goroutines of their own, because either may hang for
// ever. Such a call cannot be cancelled. It is counted, and nothing waits for it
// twice.
type driver struct {
	options Options
	reader  DeviceReader

	state    snapshot.Driver
	gpus     []*gpu // by index; a GPU is never removed
	results  chan gpuResult
	opened   chan openResult // not nil while an Open is in progress
	openedAt time.Time       // when the last Open was started
	isOpen   bool
	asked    bool // Open has been called
	everOK   bool
	restart  bool // a lost GPU needs the library to be opened again
	backoff  backoff
}

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

func newDriver(options Options) *driver {
	return &driver{
		options: options,
		reader:  options.Devices,
		state:   snapshot.Driver{State: snapshot.DriverStarting},
		results: make(chan gpuResult, 64),
	}
}

// read starts a Read of every GPU that can be read, waits for those whose last
// answer was in time, and returns every GPU ever seen, by index.
func (d *driver) read(now time.Time, interval time.Duration) []*gpu {
	for _, g := range d.gpus {
		g.fresh = nil
		g.err = nil
	}
	d.takeLate(now)
	if d.restart && d.closeReader() {
		d.restart = false
	}
	d.ensureOpen(now, interval)

	deadline := time.NewTimer(d.options.deadline(interval))
	defer deadline.Stop()
	waiting := 0
	for _, g := range d.gpus {
		if d.isOpen && g.ask(now, d.results, d.reader) && !g.late {
			waiting++
		}
	}
	for waiting > 0 {
		select {
		case r := <-d.results:
			if r.gpu.take(now, r) {
				waiting--
			}
		case <-deadline.C:
			waiting = 0
		}
	}
	d.conclude(now)
	return d.gpus
}

// takeLate takes in the answers that missed their tick.
func (d *driver) takeLate(now time.Time) {
	for {
		select {
		case r := <-d.results:
			r.gpu.take(now, r)
		default:
			return
		}
	}
}

// conclude sets the states of the GPUs and of the driver by the tick's answers.
func (d *driver) conclude(now time.Time) {
	d.state.Hanging = 0
	var lost error
	access := d.access(now)
	if access == openHangs {
		d.state.Hanging++
	}
	for _, g := range d.gpus {
		g.conclude(now, access, d.openedAt)
		if g.busy && g.state == snapshot.GPUHanging {
			d.state.Hanging++
		}
		if isDriverLost(g.err) {
			lost = g.err
		}
		if g.wantsRestart {
			g.wantsRestart = false
			d.restart = true
		}
	}
	if lost != nil && d.isOpen {
		d.lose(now, lost)
		d.closeReader()
	}
}

// access is whether the driver can be read.
type access uint8

const (
	open      access = iota
	opening          // it was closed, not lost, and is being opened again
	openHangs        // and that takes longer than openTimeout
	away
)

// openTimeout is when an Open counts as hanging. A driver that has to wake its
// GPUs needs seconds.
const openTimeout = 10 * time.Second

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

// isDriverLost reports whether an error is of the whole driver, not of one GPU.
func isDriverLost(err error) bool {
	return errors.Is(err, nvml.ErrUninitialized) || errors.Is(err, nvml.ErrDriverNotLoaded) ||
		errors.Is(err, nvml.ErrVersionMismatch) || errors.Is(err, nvml.ErrLibraryNotFound)
}

// ensureOpen opens the driver when that is due. It waits for the first Open of
// all, waits half of a GPU's deadline where a driver that was OK is opened
// again, and otherwise waits a moment only, so that the screen goes on.
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
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case r := <-d.opened:
		d.opened = nil
		r.panic.Again()
		d.takeOpen(now, r)
	case <-timer.C:
	}
}

// takeOpen takes in the result of Open.
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
	for _, device := range r.devices {
		if d.wanted(device) {
			d.list(now, device)
		}
	}
	d.gpus = slices.DeleteFunc(d.gpus, d.superseded)
	slices.SortFunc(d.gpus, func(a, b *gpu) int { return a.device.Index - b.device.Index })
}

// superseded reports whether a GPU was lost before its UUID was known, and is
// back under its UUID.
func (d *driver) superseded(g *gpu) bool {
	return !g.listed && g.device.Nameless() && slices.ContainsFunc(d.gpus, func(other *gpu) bool {
		return other.listed && other.device.Index == g.device.Index
	})
}

// find is the GPU that the driver has listed under a UUID, or nil.
func (d *driver) find(uuid string) *gpu {
	for _, g := range d.gpus {
		if g.device.UUID == uuid {
			return g
		}
	}
	return nil
}

// list finds the GPU's place by its UUID, or gives it one.
func (d *driver) list(now time.Time, device nvml.Device) {
	if g := d.find(device.UUID); g != nil {
		g.device, g.listed = device, true
		g.retryAt, g.restarted = time.Time{}, true
		return
	}
	d.gpus = append(d.gpus, &gpu{
		device: device, listed: true, state: snapshot.GPUOK, since: now,
		instances: make(map[snapshot.InstanceID]*instanceOutlook),
	})
}

// lose notes that the driver is lost, and when to try again.
func (d *driver) lose(now time.Time, err error) {
	d.isOpen = false
	state := snapshot.DriverGone
	if !d.everOK {
		switch {
		case errors.Is(err, nvml.ErrNoCgo):
			state = snapshot.DriverNoCgo
		case errors.Is(err, nvml.ErrLibraryNotFound):
			state = snapshot.DriverAbsent
		default:
			state = snapshot.DriverNotLoaded
		}
	}
	if d.state.State != state {
		d.state.Since = now
	}
	d.state.State, d.state.Err, d.state.Message = state, err, driverWord(err)
	d.state.RetryAt = now.Add(d.backoff.next())
}

// driverWord is the driver's name for an error, else the error's text.
func driverWord(err error) string {
	var e *nvml.Error
	if errors.As(err, &e) {
		return strings.TrimPrefix(e.Name, "ERROR_")
	}
	return err.Error()
}

// wanted applies the --gpu filter.
func (d *driver) wanted(device nvml.Device) bool {
	if len(d.options.Only) == 0 {
		return true
	}
	return slices.ContainsFunc(d.options.Only, func(want string) bool {
		return want == strconv.Itoa(device.Index) || len(want) > 3 && strings.HasPrefix(device.UUID, want)
	})
}

// admits applies the --gpu filter to a GPU that a probe names: with a filter, the
// driver has listed it, or the filter has its UUID.
func (d *driver) admits(uuid string) bool {
	return len(d.options.Only) == 0 || d.find(uuid) != nil ||
		slices.ContainsFunc(d.options.Only, func(want string) bool { return len(want) > 3 && strings.HasPrefix(uuid, want) })
}

// closeReader closes the driver; false while calls are in progress.
func (d *driver) closeReader() bool {
	if d.opened != nil || slices.ContainsFunc(d.gpus, func(g *gpu) bool { return g.busy }) {
		return false
	}
	closed := make(chan error, 1)
	go func() {
		defer func() {
			if c := panics.Catch(recover()); c != nil {
				closed <- c
			}
		}()
		closed <- d.reader.Close()
	}()
	timeout := time.NewTimer(300 * time.Millisecond)
	defer timeout.Stop()
	select {
	case err := <-closed:
		if errors.Is(err, nvml.ErrBusy) {
			return false
		}
	case <-timeout.C:
	}
	d.isOpen = false
	return true
}

// close closes the driver at the end of Run, or until Resume.
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
