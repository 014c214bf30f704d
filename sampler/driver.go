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

// driver keeps the driver open and its GPUs read. It survives whatever they
// do: a GPU that is lost or hangs keeps its place and is asked again with
// growing patience; a driver that goes away is looked for again.
//
// Open and Read run on goroutines of their own, because either may hang for
// good. Such a call cannot be cancelled; it is counted, and nothing waits for
// it twice.
type driver struct {
	options Options
	reader  DeviceReader

	state    snapshot.Driver
	gpus     []*gpu // by index; one that has been seen keeps its place
	results  chan gpuResult
	opened   chan openResult // not nil while an Open is under way
	openedAt time.Time       // when the last Open was started
	isOpen   bool
	asked    bool // Open has been called
	everOK   bool
	restart  bool // a lost GPU asks for a fresh start of the library
	patience backoff
}

type openResult struct {
	driver  nvml.Driver
	devices []nvml.Device
	err     error
	panic   *panics.Caught
}

// backoff is how long to wait before the next try: 1, 2, 4, 8, 16, 30, 30… s.
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

// read asks every GPU that can be asked, waits for those that usually answer,
// and returns one reading for each GPU ever seen, in order of index.
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

// takeLate collects answers that came after the tick that asked for them.
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

// conclude turns what the GPUs answered into their states and the driver's.
func (d *driver) conclude(now time.Time) {
	d.state.Hanging = 0
	var gone error
	access := d.access(now)
	if access == stuck {
		d.state.Hanging++
	}
	for _, g := range d.gpus {
		g.conclude(now, access, d.openedAt)
		if g.busy && g.state == snapshot.GPUHanging {
			d.state.Hanging++
		}
		if driverIsGone(g.err) {
			gone = g.err
		}
		if g.wantsRestart {
			g.wantsRestart = false
			d.restart = true
		}
	}
	if gone != nil && d.isOpen {
		d.lose(now, gone)
		d.closeReader()
	}
}

// access is how the driver can be asked.
type access uint8

const (
	open    access = iota
	opening        // it has been let go, not lost, and is being opened again
	stuck          // and that does not come to an end
	away
)

// openingFor is how long an Open may take before it counts as one that hangs.
// A driver that has to wake its GPUs needs seconds.
const openingFor = 10 * time.Second

func (d *driver) access(now time.Time) access {
	switch {
	case d.isOpen:
		return open
	case d.state.State != snapshot.DriverOK:
		return away
	case d.opened != nil && now.Sub(d.openedAt) >= openingFor:
		return stuck
	default:
		return opening
	}
}

// driverIsGone tells an error of the whole driver from one of a single GPU.
func driverIsGone(err error) bool {
	return errors.Is(err, nvml.ErrUninitialized) || errors.Is(err, nvml.ErrDriverNotLoaded) ||
		errors.Is(err, nvml.ErrVersionMismatch) || errors.Is(err, nvml.ErrLibraryNotFound)
}

// ensureOpen opens the driver when it is due. It waits for the answer the very
// first time, and half as long as for a GPU where a driver that was well is
// opened anew; otherwise the screen goes on meanwhile.
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
	patience := 50 * time.Millisecond
	switch {
	case first:
		patience = max(d.options.OpenDeadline, d.options.deadline(defaultInterval))
	case d.access(now) == opening:
		patience = max(patience, d.options.deadline(interval)/2)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-d.opened:
		d.opened = nil
		r.panic.Again()
		d.takeOpen(now, r)
	case <-timer.C:
	}
}

// takeOpen takes in what Open said.
func (d *driver) takeOpen(now time.Time, r openResult) {
	if r.err != nil {
		d.lose(now, r.err)
		return
	}
	d.isOpen, d.everOK = true, true
	d.patience = backoff{}
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

// superseded reports whether a GPU was lost before it had told its UUID, and
// has come back with one: it has a place of its own now.
func (d *driver) superseded(g *gpu) bool {
	return !g.listed && g.device.Nameless() && slices.ContainsFunc(d.gpus, func(other *gpu) bool {
		return other.listed && other.device.Index == g.device.Index
	})
}

// list finds the GPU's place by its UUID, or gives it one.
func (d *driver) list(now time.Time, device nvml.Device) {
	for _, g := range d.gpus {
		if g.device.UUID == device.UUID {
			g.device, g.listed = device, true
			g.retryAt, g.restarted = time.Time{}, true
			return
		}
	}
	d.gpus = append(d.gpus, &gpu{device: device, listed: true, state: snapshot.GPUOK, since: now})
}

// lose notes that the driver as a whole does not answer, and when to try again.
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
	d.state.RetryAt = now.Add(d.patience.next())
}

// driverWord is the short form of an error: the driver's own name for it
// where it has one.
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

// admits applies the --gpu filter to what a probe names: with a filter, only
// GPUs that the driver has listed, or that are asked for by UUID.
func (d *driver) admits(uuid string) bool {
	return len(d.options.Only) == 0 ||
		slices.ContainsFunc(d.gpus, func(g *gpu) bool { return g.device.UUID == uuid }) ||
		slices.ContainsFunc(d.options.Only, func(want string) bool { return len(want) > 3 && strings.HasPrefix(uuid, want) })
}

// closeReader lets the driver go; false while calls are outstanding.
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
	patience := time.NewTimer(300 * time.Millisecond)
	defer patience.Stop()
	select {
	case err := <-closed:
		if errors.Is(err, nvml.ErrBusy) {
			return false
		}
	case <-patience.C:
	}
	d.isOpen = false
	return true
}

// close lets the driver go for good or for a while.
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

// reopen makes the next tick open the driver at once.
func (d *driver) reopen() { d.state.RetryAt = time.Time{} }
