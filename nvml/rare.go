//go:build linux && cgo

package nvml

import (
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// rareInterval is the time between readings of values that rarely change: modes, limits, error counts, links.
//
//	each reading       memory, utilisation, temperature, power, SM clock, throttling, MIG instances, processes
//	every 10 s         MIG and ECC mode, ECC errors, power limit; fan, P-state, memory clock
//	with Details also
//	  each reading     encoder, decoder, throughput of PCIe and NVLink; fan, P-state, memory clock
//	  every 10 s       energy (3 ms of CPU on an H200), PCIe link, highest clocks, BAR1, row remapping, persistence, compute mode, NVLink state
const rareInterval = 10 * time.Second

// rare holds the last answers to a GPU's rare calls.
type rare struct {
	at         time.Time
	details    bool
	mig        bool
	sensors    metric.Sensors
	powerLimit metric.Float
	ecc        metric.ECC
	links      []linkState
}

// Details sets whether Read reads every metric. The table at rareInterval lists the metrics that need Details.
func (l *Library) Details(wanted bool) { l.details.Store(wanted) }

// WithoutProcesses makes Read skip the processes, for a program that shows only GPUs.
func (l *Library) WithoutProcesses() { l.alone.Store(true) }

// due reports whether a value that was read at the given time should be read again.
func due(now, at time.Time) bool {
	age := now.Sub(at)
	return age >= rareInterval || age < 0
}

// readRare reads the values that rarely change, or takes the last answers. It runs before the calls whose meaning
// depends on the MIG mode.
func (r *reading) readRare() {
	kept := &r.rare
	if r.details == kept.details && !due(r.started, kept.at) {
		r.result.Sensors, r.result.MIGEnabled, r.result.ECC = kept.sensors, kept.mig, kept.ecc
		r.result.Device.PowerLimit = kept.powerLimit
		return
	}
	if r.can(symMIGMode) {
		current, _, ret := r.handle.GetMigMode()
		r.result.MIGEnabled = r.ok(symMIGMode, ret) && current == gonvml.DEVICE_MIG_ENABLE
	}
	if milliwatts, ok := ask(r, symPowerLimit, r.handle.GetEnforcedPowerLimit); ok {
		r.result.Device.PowerLimit = watts(milliwatts)
	}
	r.readECC()
	links := kept.links[:0]
	if r.details {
		r.readModes()
		r.readPCIeLink()
		links = r.readLinkStates(links)
	} else {
		r.readUnlisted()
	}
	*kept = rare{
		details: r.details, mig: r.result.MIGEnabled, sensors: r.result.Sensors, ecc: r.result.ECC,
		powerLimit: r.result.Device.PowerLimit, links: links,
	}
	if r.err == nil {
		kept.at = r.started
	}
}

// readModes reads the energy counter, the highest clocks, BAR1, persistence and compute mode, and row remapping.
func (r *reading) readModes() {
	s := &r.result.Sensors
	if millijoules, ok := ask(r, symEnergy, r.handle.GetTotalEnergyConsumption); ok && millijoules < highestEnergy*1000 {
		s.Energy = quantity.From(float64(millijoules)/1000, quantity.Driver)
	}
	s.SMClockMax = r.clock(symMaxClock, r.handle.GetMaxClockInfo, gonvml.CLOCK_SM)
	s.MemoryClockMax = r.clock(symMaxClock, r.handle.GetMaxClockInfo, gonvml.CLOCK_MEM)
	if bar1, ok := ask(r, symBAR1, r.handle.GetBAR1MemoryInfo); ok && bar1.Bar1Total < largestMemory && bar1.Bar1Used <= bar1.Bar1Total {
		s.BAR1Total = quantity.From(int(bar1.Bar1Total), quantity.Driver)
		s.BAR1Used = quantity.From(int(bar1.Bar1Used), quantity.Driver)
	}
	if mode, ok := ask(r, symPersistence, r.handle.GetPersistenceMode); ok {
		s.Persistence = intFigure(uint32(mode), 1)
	}
	if mode, ok := ask(r, symComputeMode, r.handle.GetComputeMode); ok {
		s.ComputeMode = intFigure(uint32(mode), uint32(gonvml.COMPUTEMODE_COUNT)-1)
	}
	if r.can(symRemappedRows) {
		correctable, uncorrectable, pending, failed, ret := r.handle.GetRemappedRows()
		if r.ok(symRemappedRows, ret) {
			s.RemappedCorrectable = intFigure(uint32(correctable), highestCount)
			s.RemappedUncorrectable = intFigure(uint32(uncorrectable), highestCount)
			s.RemappingPending, s.RemappingFailed = flag(pending), flag(failed)
		}
	}
}

func flag(set bool) metric.Int {
	if set {
		return quantity.From(1, quantity.Driver)
	}
	return quantity.From(0, quantity.Driver)
}

func (r *reading) readPCIeLink() {
	s := &r.result.Sensors
	for _, figure := range []struct {
		call  symbol
		get   func() (int, gonvml.Return)
		limit uint32
		to    *metric.Int
	}{
		{symPCIeGeneration, r.handle.GetCurrPcieLinkGeneration, highestGeneration, &s.PCIeGeneration},
		{symPCIeGenerationMax, r.handle.GetMaxPcieLinkGeneration, highestGeneration, &s.PCIeGenerationMax},
		{symPCIeWidth, r.handle.GetCurrPcieLinkWidth, highestWidth, &s.PCIeWidth},
		{symPCIeWidthMax, r.handle.GetMaxPcieLinkWidth, highestWidth, &s.PCIeWidthMax},
	} {
		if answer, ok := ask(r, figure.call, figure.get); ok && answer > 0 {
			*figure.to = intFigure(uint32(answer), figure.limit)
		}
	}
}

// video reads how busy the video encoder or decoder is, in per cent.
func (r *reading) video(call symbol, get func() (percent, period uint32, ret gonvml.Return)) metric.Int {
	if percent, ok := ask(r, call, func() (uint32, gonvml.Return) { percent, _, ret := get(); return percent, ret }); ok {
		return intFigure(percent, 100)
	}
	return metric.Int{}
}

// readDetails reads the metrics that each reading with Details has.
func (r *reading) readDetails() {
	if !r.details {
		r.links.now = r.links.now[:0] // otherwise the next rate would be the mean over the whole pause
		return
	}
	r.readUnlisted()
	r.result.EncoderUtilization = r.video(symEncoder, r.handle.GetEncoderUtilization)
	r.result.DecoderUtilization = r.video(symDecoder, r.handle.GetDecoderUtilization)
	r.readThroughput()
	r.readLinks()
}
