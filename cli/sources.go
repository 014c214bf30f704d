package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/cli/config"
	"vramscope/daemon/socket"
	"vramscope/internal/panics"
	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// sources is what a sampler reads: the real box, or a simulated one. Behind
// them there is no difference.
type sources struct {
	options sampler.Options
	driver  *driverSource
	library *nvml.Library  // nil in a demo
	table   *process.Table // nil in a demo, whose PIDs are not this machine's
	probes  *probe.Monitor // nil in a demo; read only while listen runs
	daemon  *socket.Reader // what a daemon reports of others' probes; nil in a demo
	replay  *replay        // a demo's clock, nil for a real box
	signal  func(context.Context, process.Identity, syscall.Signal) error
	// flushes asks a probe to free memory: a real one, or a simulated one.
	flushes flush.Prober
	log     *action.Log          // nil in a demo: what is simulated is not logged
	note    func(snapshot.Event) // into the monitor's event log; nil in other commands
	// segments asks a probe for its memory map on some devices, or on all.
	segments mapper
	inflight *inflight // the monitor's actions on processes
}

// sources wires the sources. Past is how long a simulated box has already run.
func (p *program) sources(s *config.Settings, past time.Duration) (*sources, error) {
	out := &sources{inflight: newInflight(), options: sampler.Options{
		Interval:  s.Interval,
		Only:      s.GPUs,
		LowMemory: s.LowMemoryFraction(),
	}}
	if p.flags.demo {
		if _, err := out.simulate(simulator.Options{Seed: p.flags.seed}, past, p.now); err != nil {
			return nil, err
		}
	} else {
		out.library = nvml.New(nvml.Options{LibraryPath: s.Library})
		out.table = process.NewTable("/proc")
		out.probes = probe.NewMonitor(probe.NewFinder(out.table), probe.MonitorOptions{Clock: p.now, Directories: p.probeDirectories})
		out.driver = &driverSource{DeviceReader: out.library, probes: out.probes}
		out.options.Processes, out.options.Clock = out.table, p.now
		out.daemon = socket.NewReader(out.probes, p.daemonPlaces, p.now)
		out.options.Probes = out.daemon
		out.signal, out.flushes = out.table.Signal, out.probes
		out.log = p.auditLog(out.table)
		out.segments = segmentsFrom(probe.NewFinder(out.table))
	}
	out.options.Devices = out.driver
	return out, nil
}

// Timeouts of the first sample. Without persistence mode a driver takes seconds
// to wake its GPUs; the monitor shows its screen meanwhile.
const (
	monitorTimeout = 400 * time.Millisecond
	onceOpening    = 15 * time.Second
	onceReading    = 2 * time.Second
	onceNaming     = 500 * time.Millisecond // of users, by a directory service
)

// lookOnce sets the timeouts of a command that samples only once.
func (src *sources) lookOnce() {
	src.options.OpenDeadline, src.options.Deadline = onceOpening, onceReading
	if src.table != nil {
		src.table.Timeout = onceNaming
	}
	if src.probes != nil {
		src.options.Probes = &settled{ProbeReader: src.options.Probes, settle: func(ctx context.Context) {
			src.probes.Settle(ctx)
			if src.daemon != nil {
				src.daemon.Settle(ctx)
			}
		}}
	}
}

// details asks the driver also for what only a page about a GPU, a recording and an
// exporter show.
func (src *sources) details(wanted bool) {
	if src.library != nil {
		src.library.Details(wanted)
	}
}

// detailsOn is details for a screen, which shows them at once.
func (src *sources) detailsOn(ctx context.Context, sampling *sampler.Sampler) func(bool) {
	return func(wanted bool) {
		src.details(wanted)
		if wanted && src.library != nil {
			go sampling.Refresh(ctx)
		}
	}
}

// probeAsker is what a driverSource needs of the monitor of probes.
type probeAsker interface {
	Ask()
	Listed(gpu string, pids []int)
}

// driverSource is the driver. It remembers the last Open, also one that failed:
// the library that was found, and every GPU before the filter.
type driverSource struct {
	sampler.DeviceReader
	probes probeAsker // nil where there are none to ask

	listed  func([]nvml.Device) // takes what the driver lists each time that it is opened; may be nil
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
	if d.listed != nil {
		d.listed(devices)
	}
	return driver, devices, err
}

// Read implements sampler.DeviceReader. The probes are asked when the driver is
// read, so that their figures can be compared, and get the PIDs that it lists: a
// probe in a container is found by its PID.
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

func (d *driverSource) opened() (nvml.Driver, []nvml.Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.driver, d.devices
}

// listen reads a real box's probes until the context ends; wait returns then. A
// panic becomes an error: the screen must be restored first.
func (src *sources) listen(ctx context.Context, failed func(error)) (wait func()) {
	if src.probes == nil {
		return func() {}
	}
	var running sync.WaitGroup
	start := func(run func(context.Context)) {
		running.Go(func() {
			defer func() {
				if caught := panics.Catch(recover()); caught != nil {
					failed(fmt.Errorf("probes: panic: %w", caught))
				}
			}()
			run(ctx)
		})
	}
	start(src.probes.Run)
	if src.daemon != nil {
		start(src.daemon.Run)
	}
	return running.Wait
}

// listenFor reads the probes for a command that samples once. Its function ends
// that and waits; the context ends then, or when reading fails.
func (src *sources) listenFor(ctx context.Context) (listening context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	waitForProbes := src.listen(ctx, cancel)
	return ctx, func() {
		cancel(nil)
		waitForProbes()
	}
}

// lookGCPercent has a command that samples once, and a monitor's first sample, collect the
// first garbage at 32 MB in place of 4: most end before.
const lookGCPercent = 800

// collectLate has garbage collected late; GOGC in the environment comes first.
func collectLate() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lookGCPercent)
	}
}

// look samples for a command that samples once: again while a report is doubted or its
// readings are of different moments. Meanwhile the probe is asked for figures of now, and
// the driver's next readings distinguish a process that grew from a probe that lies.
func (src *sources) look(ctx context.Context, sampling *sampler.Sampler) *snapshot.Snapshot {
	const most, pause = 20, 100 * time.Millisecond // others may come meanwhile
	collectLate()
	snap := sampling.Tick(src.options.Clock())
	for i := 1; i < most && ctx.Err() == nil; i++ {
		doubted, skewed := src.unsettled(snap)
		if len(doubted) == 0 && (len(skewed) == 0 || i > most/2) {
			break
		}
		if i > 1 {
			time.Sleep(pause)
		}
		if src.probes != nil {
			src.probes.Renew(ctx, append(doubted, skewed...))
		}
		snap = sampling.Tick(src.options.Clock())
	}
	return snap
}

// unsettled are the processes whose reports are doubted, and those that this user can ask
// of whom the driver's readings and the probe's are of different moments.
func (src *sources) unsettled(snap *snapshot.Snapshot) (doubted, skewed []process.Identity) {
	for i := range snap.Rows {
		switch p := &snap.Rows[i]; {
		case p.Probe == nil:
		case p.Probe.Doubted:
			doubted = append(doubted, p.ID.Process)
		case p.Probe.Skewed && !p.Probe.ByDaemon:
			skewed = append(skewed, p.ID.Process)
		}
	}
	return doubted, skewed
}

// onceProbing is how long all first answers may take, as long as the driver's. One
// probe that does not answer takes a fraction of a second; hundreds that do,
// on a busy machine, may take a second.
const onceProbing = onceReading

// settled is a reader that waits first until all probes have been asked.
type settled struct {
	sampler.ProbeReader
	settle func(context.Context)
	first  sync.Once
}

func (s *settled) Unasked() int {
	s.wait()
	return s.ProbeReader.Unasked()
}

func (s *settled) Answers() []probe.Answer {
	s.wait()
	return s.ProbeReader.Answers()
}

func (s *settled) wait() {
	s.first.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), onceProbing)
		defer cancel()
		s.settle(ctx)
	})
}
