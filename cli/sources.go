package cli

import (
	"context"
	"syscall"
	"time"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/cli/config"
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
	driver  *driverSource  // with what it last said of itself
	library *nvml.Library  // nil in a demo
	table   *process.Table // nil in a demo, whose pids are somebody else's on this machine
	probes  *probe.Monitor // nil in a demo; read only while somebody listens
	replay  *replay        // a demo's clock, nil for a real box
	// signal is the box's own: a simulated one signals simulated processes.
	signal func(context.Context, process.Identity, syscall.Signal) error
	// flushes asks a probe to free memory: a real one, or a simulated one.
	flushes flush.Prober
	log     *action.Log // nil in a demo: what is simulated is not logged
	// segments asks a probe where its memory lies on some devices, or on all.
	segments mapper
	// attaching is what the monitor does not end in the middle of.
	attaching *underWay
}

// sources wires the sources that the settings ask for. A simulated box gets
// as much past as is asked for; a real one has what it has.
func (p *program) sources(s *config.Settings, past time.Duration) (*sources, error) {
	out := &sources{attaching: newUnderWay(), options: sampler.Options{
		Interval:   s.Interval,
		Only:       s.GPUs,
		Thresholds: s.Thresholds(),
	}}
	if p.flags.demo {
		clock := &replay{at: p.now().Add(-past), behind: past > 0, now: p.now}
		box, err := simulator.New(simulator.Options{Seed: p.flags.seed, Clock: clock.Now, Prelude: past})
		if err != nil {
			return nil, err
		}
		out.options.Clock, out.replay = clock.Now, clock
		out.driver = &driverSource{DeviceReader: box}
		out.signal = func(_ context.Context, id process.Identity, signal syscall.Signal) error {
			return box.Signal(id, signal)
		}
		out.flushes, out.segments = &simulatedProbes{box}, simulatedSegments(box)
		out.options.Probes, out.options.Processes, out.options.Simulated = box, box, true
	} else {
		out.library = nvml.New(nvml.Options{LibraryPath: s.Library})
		out.table = process.NewTable("/proc")
		out.probes = probe.NewMonitor(probe.NewFinder(out.table), probe.MonitorOptions{Clock: p.now, Directories: p.probeDirectories})
		out.driver = &driverSource{DeviceReader: out.library, probes: out.probes}
		out.options.Processes, out.options.Clock = out.table, p.now
		out.options.Probes = out.probes
		out.signal, out.flushes = out.table.Signal, out.probes
		out.log = auditLog(out.table, p.now)
		out.segments = segmentsFrom(probe.NewFinder(out.table))
	}
	out.options.Devices = out.driver
	return out, nil
}

// How long the first look waits. A driver that nobody keeps open (no
// persistence mode) takes seconds to wake its GPUs; the monitor shows its
// screen meanwhile, a one-shot command has nothing else to do.
const (
	monitorTimeout = 400 * time.Millisecond
	onceOpening    = 15 * time.Second
	onceReading    = 2 * time.Second
	onceNaming     = 500 * time.Millisecond // of users, by a directory service
)

// lookOnce sets the timeout of a command that looks only once.
func (src *sources) lookOnce() {
	src.options.OpenDeadline, src.options.Deadline = onceOpening, onceReading
	if src.table != nil {
		src.table.Timeout = onceNaming
	}
	if src.library != nil {
		src.library.Complete()
	}
	if src.probes != nil {
		src.options.Probes = &settled{ProbeReader: src.probes, settle: src.probes.Settle}
	}
}
