package sampler

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/panics"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// driver keeps the driver open and reads its GPUs. A GPU that is lost or hangs keeps its place in
// the list. A GPU that fails, and a driver that is lost, are tried again at growing intervals.
//
// Open and Read run on goroutines of their own, because either may hang for ever. A call that hangs
// cannot be cancelled. Later ticks hardly wait for the call, and do not start another.
type driver struct {
	options Options
	reader  DeviceReader

	state    snapshot.Driver
	gpus     []*gpu // by index; a GPU is removed only when it is superseded
	devices  int    // number of GPUs of the box, including those that --gpu leaves out
	results  chan gpuResult
	opened   chan openResult // not nil while an Open is in progress
	openedAt time.Time       // when the last Open was started
	isOpen   bool
	asked    bool // Open has been called
	everOK   bool
	restart  bool // a lost GPU needs the library to be opened again
	backoff  backoff
}

func newDriver(options Options) *driver {
	return &driver{
		options: options,
		reader:  options.Devices,
		state:   snapshot.Driver{State: snapshot.DriverStarting},
		results: make(chan gpuResult, 64),
	}
}

// read starts a Read of every GPU that can be read, waits for the GPUs whose last answer was in
// time, and returns all GPUs by index, including lost ones.
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
		if read := d.ask(now, g); read != nil {
			if !g.late {
				waiting++
			}
			go read()
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

// ask prepares a Read of a GPU, or returns nil if none is due.
func (d *driver) ask(now time.Time, g *gpu) func() {
	if !d.isOpen || !g.ask(now) {
		return nil
	}
	device := g.device
	return func() {
		r := gpuResult{gpu: g, asked: now, reading: new(nvml.Reading)}
		defer func() { r.panic = panics.Catch(recover()); d.results <- r }()
		*r.reading, r.err = d.reader.Read(device)
	}
}

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

var memoryCalls = map[quantity.Source]string{quantity.Driver: "v2", quantity.DriverV1: "v1"}

// conclude sets the states of the GPUs and of the driver from the tick's answers.
func (d *driver) conclude(now time.Time) {
	var lost error
	access := d.access(now)
	for _, g := range d.gpus {
		g.conclude(now, access, d.openedAt)
		if g.fresh != nil {
			d.state.MemoryCall = cmp.Or(memoryCalls[g.fresh.Memory.Used.Source()], d.state.MemoryCall)
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

// isDriverLost reports whether an error concerns the whole driver, not one GPU.
func isDriverLost(err error) bool {
	return errors.Is(err, nvml.ErrUninitialized) || errors.Is(err, nvml.ErrDriverNotLoaded) ||
		errors.Is(err, nvml.ErrVersionMismatch) || errors.Is(err, nvml.ErrLibraryNotFound)
}

// superseded reports whether a GPU without a known UUID is now listed with its UUID.
func (d *driver) superseded(g *gpu) bool {
	return !g.listed && g.device.Nameless() && slices.ContainsFunc(d.gpus, func(other *gpu) bool {
		return other.listed && other.device.Index == g.device.Index
	})
}

// find returns the GPU that the driver has listed under a UUID, or nil.
func (d *driver) find(uuid string) *gpu {
	for _, g := range d.gpus {
		if g.device.UUID == uuid {
			return g
		}
	}
	return nil
}

// list updates the GPU with the device's UUID, or adds a GPU.
func (d *driver) list(now time.Time, device nvml.Device) {
	if g := d.find(device.UUID); g != nil {
		g.device, g.listed = device, true
		g.retryAt, g.restarted = time.Time{}, true
		return
	}
	d.gpus = append(d.gpus, &gpu{
		device: device, listed: true, state: snapshot.GPUOK, since: now,
		instances: make(map[snapshot.InstanceID]*expected),
	})
}

// lose notes that the driver is lost, and when to try again.
func (d *driver) lose(now time.Time, err error) {
	d.isOpen = false
	d.state.Failures++
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

// driverWord returns the driver's name for an error, or else the error's text.
func driverWord(err error) string {
	if e, ok := errors.AsType[*nvml.Error](err); ok {
		return strings.TrimPrefix(e.Name, "ERROR_")
	}
	return err.Error()
}

// wanted reports whether the --gpu filter admits a GPU. The index is -1 if unknown.
func (d *driver) wanted(index int, uuid string) bool {
	return len(d.options.Only) == 0 || slices.ContainsFunc(d.options.Only, func(want string) bool {
		return want == strconv.Itoa(index) || len(want) > 3 && strings.HasPrefix(uuid, want)
	})
}

// admits reports whether the --gpu filter admits a GPU that a probe names. If there is a filter,
// the driver must have listed the GPU, or the filter must have a prefix of its UUID.
func (d *driver) admits(uuid string) bool {
	return d.find(uuid) != nil || d.wanted(-1, uuid)
}
