package cli

import (
	"context"
	"sync"
	"syscall"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
)

// sources is what a sampler reads: the real box, or a simulated one. Behind
// them there is no difference.
type sources struct {
	options sampler.Options
	heard   *heard         // the driver, with what it last said of itself
	library *nvml.Library  // nil in a demo
	table   *process.Table // nil in a demo, whose pids are somebody else's on this machine
	probes  *probe.Monitor // nil in a demo; read only while somebody listens
	replay  *replay        // a demo's clock, nil for a real box
	// signal is the box's own: a simulated one signals simulated processes.
	signal func(context.Context, process.Identity, syscall.Signal) error
	// flush asks a probe to give memory back: a real one, or a simulated one.
	flush flusher
	// segments asks a probe where its memory lies on some devices, or on all.
	segments mapper
	// attaching is what the monitor does not end in the middle of.
	attaching *underWay
}

// sources wires the sources that the settings ask for. A simulated box gets
// as much past as is asked for; a real one has what it has.
func (p *program) sources(s *settings, past time.Duration) (*sources, error) {
	out := &sources{attaching: newUnderWay(), options: sampler.Options{
		Interval:   s.interval,
		Only:       s.gpus,
		Thresholds: s.thresholds(),
	}}
	if p.flags.demo {
		clock := &replay{at: p.now().Add(-past), behind: past > 0, now: p.now}
		box, err := simulator.New(simulator.Options{Seed: p.flags.seed, Clock: clock.Now, Prelude: past})
		if err != nil {
			return nil, err
		}
		out.options.Clock, out.replay = clock.Now, clock
		out.heard = &heard{DeviceReader: box}
		out.signal = func(_ context.Context, id process.Identity, signal syscall.Signal) error {
			return box.Signal(id, signal)
		}
		out.flush, out.segments = simulatedFlush(box), simulatedSegments(box)
		out.options.Probes, out.options.Processes, out.options.Simulated = box, box, true
	} else {
		out.library = nvml.New(nvml.Options{LibraryPath: s.library})
		out.table = process.NewTable("/proc")
		out.probes = probe.NewMonitor(probe.NewFinder(out.table), probe.MonitorOptions{Clock: p.now, Directories: p.probeDirectories})
		out.heard = &heard{DeviceReader: out.library, probes: out.probes}
		out.options.Processes, out.options.Clock = out.table, p.now
		out.options.Probes = out.probes
		out.signal, out.flush = out.table.Signal, out.probes.Flush
		out.segments = segmentsFrom(probe.NewFinder(out.table))
	}
	out.options.Devices = out.heard
	return out, nil
}

// replay is the clock of a simulated box that has a past: it says what the
// past says until the sampler has caught up, and the time from then on.
type replay struct {
	mu     sync.Mutex
	at     time.Time
	behind bool
	now    func() time.Time
}

// Now is the box's time.
func (r *replay) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind {
		return r.at
	}
	return r.now()
}

// advance moves a past moment on, and reports whether it is still past.
func (r *replay) advance(step time.Duration) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind {
		r.at = r.at.Add(step)
		r.behind = r.at.Before(r.now())
	}
	return r.at, r.behind
}

// catchUp has the sampler live through a simulated box's past, so that the
// first screen has a history: the same pipeline, ahead of time.
func (src *sources) catchUp(sampling *sampler.Sampler) {
	if src.replay == nil {
		return
	}
	const step = 5 * time.Second
	for at, past := src.replay.advance(0); past; at, past = src.replay.advance(step) {
		sampling.Tick(at)
	}
}

// heard passes the driver on and remembers what its last Open said, also one
// that failed: which library was found, and every GPU before the filter.
type heard struct {
	sampler.DeviceReader
	probes *probe.Monitor // nil where there are none to ask

	mu      sync.Mutex
	driver  nvml.Driver
	devices []nvml.Device
}

// Open implements sampler.DeviceReader.
func (h *heard) Open() (nvml.Driver, []nvml.Device, error) {
	driver, devices, err := h.DeviceReader.Open()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.driver, h.devices = driver, devices
	return driver, devices, err
}

// said is what the last Open said.
func (h *heard) said() (nvml.Driver, []nvml.Device) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.driver, h.devices
}

// How long the first look waits. A driver that nobody keeps open (no
// persistence mode) takes seconds to wake its GPUs; the monitor shows its
// screen meanwhile, a one-shot command has nothing else to do.
const (
	monitorPatience = 400 * time.Millisecond
	onceOpening     = 15 * time.Second
	onceReading     = 2 * time.Second
	onceNaming      = 500 * time.Millisecond // of users, by a directory service
)

// lookOnce sets the patience of a command that looks only once.
func (src *sources) lookOnce() {
	src.options.OpenDeadline, src.options.Deadline = onceOpening, onceReading
	if src.table != nil {
		src.table.Patience = onceNaming
	}
	if src.probes != nil {
		src.options.Probes = &settled{ProbeReader: src.probes, settle: src.probes.Settle}
	}
}
