package sources

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"vramscope/action"
	"vramscope/action/attach"
	"vramscope/action/flush"
	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/daemon/socket"
	"vramscope/internal/panics"
	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
	way "vramscope/probe/attach"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/server"
)

// Set holds the sources of a sampler: those of the real box, or of a simulated one.
type Set struct {
	Program  *command.Program
	Settings *config.Settings

	Options  sampler.Options
	Driver   *driverSource
	Library  *nvml.Library  // nil in a demo
	Table    *process.Table // nil in a demo, whose PIDs are not this machine's
	Probes   *probe.Monitor // nil in a demo; Listen reads them
	Daemon   *socket.Reader // reads this user's probes and what a daemon reports; nil in a demo and in a daemon
	replay   *replay        // a demo's clock, nil for a real box
	Signal   func(context.Context, process.Identity, syscall.Signal) error
	flushes  flush.Prober         // Probes, or simulatedProbes
	Log      *action.Log          // nil in a demo: simulated actions are not logged
	Note     func(snapshot.Event) // adds to the monitor's event log; nil in other commands
	Segments mapper
	holds    holder
	Servers  *server.Finder  // nil in a demo
	Watcher  *server.Watcher // nil if the configuration has no server to watch
	Asked    int             // the PID on which a command acts; Look waits for its probe
}

// Open wires the sources of this run's settings. past is how long a simulated box has already run.
func Open(p *command.Program, past time.Duration) (*Set, error) {
	s, err := p.Settings()
	if err != nil {
		return nil, err
	}
	return OpenWith(p, &s, past), nil
}

// OpenWith is Open with settings that a command has made.
func OpenWith(p *command.Program, s *config.Settings, past time.Duration) *Set {
	out := &Set{Program: p, Settings: s, Options: sampler.Options{
		Interval:  s.Interval,
		Only:      s.GPUs,
		LowMemory: s.LowMemoryFraction(),
	}}
	if p.Flags.Demo {
		out.Simulate(simulator.Options{Seed: p.Flags.Seed}, past, p.Now)
	} else {
		out.Library = nvml.New(nvml.Options{LibraryPath: s.Library})
		out.Table = process.NewTable("/proc")
		out.Probes = probe.NewMonitor(probe.NewFinder(out.Table), p.Now, p.ProbeDirectories)
		out.Driver = &driverSource{DeviceReader: out.Library, probes: out.Probes}
		out.Options.Processes, out.Options.Clock = out.Table, p.Now
		out.Daemon = socket.NewReader(out.Probes, p.Daemons(), p.Now)
		out.Options.Probes = out.Daemon
		out.Signal, out.flushes = out.Table.Signal, out.Probes
		out.Log = p.AuditLog(out.Table)
		out.Servers = &server.Finder{Table: out.Table, Entries: s.Servers}
		if slices.ContainsFunc(s.Servers, func(e server.Entry) bool { return e.Watch }) {
			out.Watcher = server.NewWatcher(out.Servers)
			out.Options.Servers = out.Watcher.Add
		}
		out.Segments, out.holds = segmentsFrom(probe.NewFinder(out.Table)), holdsFrom(probe.NewFinder(out.Table))
	}
	out.Options.Devices = out.Driver
	return out
}

// Timeouts of the first sample. Without persistence mode a driver takes seconds
// to wake its GPUs; the monitor shows its screen meanwhile.
const (
	MonitorTimeout = 400 * time.Millisecond
	OnceOpening    = 15 * time.Second
	OnceReading    = 2 * time.Second
	onceNaming     = 500 * time.Millisecond // for a directory service that names users, and for servers
)

// Details sets whether the library also reads the metrics that the table of the monitor does not show.
func (src *Set) Details(wanted bool) {
	if src.Library != nil {
		src.Library.Details(wanted)
	}
}

// probeAsker is the part of the monitor of probes that a driverSource uses.
type probeAsker interface {
	Ask()
	Listed(gpu string, pids []int)
}

// driverSource is the driver. It keeps the result of the last Open, even a failed one: the library that
// was found, and every GPU before the filter.
type driverSource struct {
	sampler.DeviceReader
	probes probeAsker // nil if there are none to ask

	Listed  func([]nvml.Device) // called by Open with the devices that the driver lists; can be nil
	mu      sync.Mutex
	driver  nvml.Driver
	devices []nvml.Device
}

func (d *driverSource) Open() (nvml.Driver, []nvml.Device, error) {
	driver, devices, err := d.DeviceReader.Open()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, was := range d.devices {
		if d.probes != nil && !slices.ContainsFunc(devices, func(is nvml.Device) bool { return is.UUID == was.UUID }) {
			d.probes.Listed(was.UUID, nil)
		}
	}
	d.driver, d.devices = driver, devices
	if d.Listed != nil {
		d.Listed(devices)
	}
	return driver, devices, err
}

// Read implements sampler.DeviceReader. It asks the probes when it reads the driver, so that the
// figures can be compared, and passes on the PIDs that the driver lists: a probe in a container is
// found by its PID.
func (d *driverSource) Read(device nvml.Device) (nvml.Reading, error) {
	if d.probes == nil {
		return d.DeviceReader.Read(device)
	}
	d.probes.Ask()
	reading, err := d.DeviceReader.Read(device)
	switch {
	case errors.Is(err, nvml.ErrGPULost):
		d.probes.Listed(device.UUID, nil)
	case err == nil && reading.ProcessesError == nil:
		pids := make([]int, 0, len(reading.Processes))
		for i := range reading.Processes {
			pids = append(pids, reading.Processes[i].PID)
		}
		slices.Sort(pids)
		d.probes.Listed(device.UUID, slices.Compact(pids))
	}
	return reading, err
}

// Opened returns the driver and the devices of the last Open.
func (d *driverSource) Opened() (nvml.Driver, []nvml.Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.driver, d.devices
}

// Listen reads the probes, servers and daemons of a real box until the context ends; wait returns
// then. A panic is passed to failed, so that the screen is restored.
func (src *Set) Listen(ctx context.Context, failed func(error)) (wait func()) {
	if src.Probes == nil {
		return func() {}
	}
	var running sync.WaitGroup
	start := func(run func(context.Context)) {
		running.Go(func() {
			defer panics.To(failed, "probes")
			run(ctx)
		})
	}
	start(src.Probes.Run)
	if src.Watcher != nil {
		start(src.Watcher.Run)
	}
	if src.Daemon != nil {
		start(src.Daemon.Run)
	}
	return running.Wait
}

// Refresher returns a function that takes a fresh sample, for which it waits two seconds at most.
func Refresher(sampling *sampler.Sampler) func(context.Context) *snapshot.Snapshot {
	return func(ctx context.Context) *snapshot.Snapshot {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return sampling.Refresh(ctx)
	}
}

// Flusher returns a flush.Flusher for these sources. sample takes a fresh snapshot.
func (src *Set) Flusher(sample func(context.Context) *snapshot.Snapshot) *flush.Flusher {
	return &flush.Flusher{Probes: src.flushes, Sample: sample, Log: src.Log, Clock: src.Options.Clock, Servers: src.Servers.Find, Hold: src.holdRoom}
}

func Attacher(table *process.Table, log *action.Log) *attach.Attacher {
	return &attach.Attacher{Way: way.New(table, probe.NewFinder(table)), Log: log, Clock: time.Now}
}
