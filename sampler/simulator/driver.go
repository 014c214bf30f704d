package simulator

import (
	"fmt"
	"math"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/nvml"
)

// Open lists the GPUs, including lost ones.
func (b *Box) Open() (nvml.Driver, []nvml.Device, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	devices := make([]nvml.Device, len(b.boards))
	for i, g := range b.boards {
		devices[i] = g.device
	}
	return nvml.Driver{
		Version:     "550.163.01",
		CUDAVersion: "12.4",
		LibraryPath: "simulated",
	}, devices, nil
}

func (b *Box) Close() error { return nil }

// Read takes one reading of a GPU. A lost GPU is an nvml.ErrGPULost.
func (b *Box) Read(device nvml.Device) (nvml.Reading, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.advance()
	for _, g := range b.boards {
		if g.device.UUID != device.UUID {
			continue
		}
		if g.loss.lost {
			return nvml.Reading{}, refuse(device, "ERROR_GPU_IS_LOST", nvml.ErrGPULost)
		}
		return g.reading(b.seed, now, b.at), nil
	}
	return nvml.Reading{}, refuse(device, "ERROR_NOT_FOUND", nil)
}

func refuse(device nvml.Device, name string, kind error) error {
	return fmt.Errorf("simulator: memory of GPU %d: %w", device.Index,
		&nvml.Error{Name: name, Call: "nvmlDeviceGetMemoryInfo_v2", Kind: kind})
}

func (g *board) reading(seed uint64, now time.Time, at time.Duration) nvml.Reading {
	wobble := func(stream uint64) float64 {
		return noise(seed, uint64(g.device.Index)<<8|stream, uint64(at/step))
	}
	r := nvml.Reading{
		Device: g.device,
		Time:   now,
		Memory: g.frame.memory(),
		Sensors: metric.Sensors{
			Temperature:      driver(int(math.Round(g.temperature))),
			Power:            driver(math.Round(g.power*1000) / 1000),
			SMClock:          driver(g.clock(wobble(3))),
			MemoryClock:      driver(memoryClock),
			PerformanceState: driver(0), // an H100 never leaves P0
			ClockReasons:     driver(g.clockReasons()),
		},
		Throttle: driver(nvml.Throttle(0)),
		ECC: metric.ECC{
			Enabled:     driver(true),
			Corrected:   driver(g.corrected),
			Uncorrected: driver(uint64(0)),
		},
		MIGEnabled: len(g.instances) > 0,
	}
	g.details(&r, wobble)
	if !r.MIGEnabled {
		r.Utilization = driver(percent(g.busy, wobble(4)))
		r.MemoryUtilization = driver(percent(0.62*g.busy, wobble(5)))
	}
	for _, i := range g.instances {
		r.Instances = append(r.Instances, nvml.Instance{
			ID: i.id, UUID: i.uuid, Profile: i.profile, Slices: i.slices, Whole: 7, Memory: i.frame.memory(),
		})
	}
	for n, t := range g.tasks {
		p := nvml.Process{PID: t.identity.PID, Type: t.role.kind, Used: driver(t.used())}
		if t.instance != nil {
			p.Instance = t.instance.id
		} else {
			p.SMUtilization = driver(percent(t.busy, wobble(16+uint64(n))))
			p.MemoryUtilization = driver(percent(0.62*t.busy, wobble(16+uint64(n))))
			p.EncoderUtilization, p.DecoderUtilization = driver(0), driver(0)
		}
		r.Processes = append(r.Processes, p)
	}
	return r
}

// clock returns the SM clock in MHz: high during work and for some seconds after.
func (g *board) clock(wobble float64) int {
	const lingers = 10 * time.Second
	if g.idleFor > lingers {
		return idleClock
	}
	if g.busy < 0.9 {
		return busyClock
	}
	const bin = 15 // MHz
	return busyClock - bin*int(math.Round(1+wobble))
}

// percent returns a share in whole per cent, 0 only if nothing ran.
func percent(share, wobble float64) int {
	if share <= 0 {
		return 0
	}
	return int(min(max(math.Round(100*share+1.6*wobble), 1), 100))
}

func (f *frame) memory() nvml.Memory {
	return nvml.Memory{
		Total:    driver(f.total),
		Used:     driver(f.used),
		Free:     driver(f.capacity() - f.used),
		Reserved: driver(f.reserved),
	}
}

func driver[T any](value T) quantity.Optional[T] { return quantity.From(value, quantity.Driver) }

// An H100 SXM has PCIe 5.0 x16 and 18 links of NVLink 4 with 25 GB/s each way.
const (
	pcieGeneration = 5
	pcieWidth      = 16
	pcieFull       = 52e9 // bytes/s that copies reach
	linkCount      = 18
	linkFull       = 22e9 // bytes/s of one link that collectives reach
	bar1           = 128 * quantity.GiB
)

// The bits of nvmlClocksEventReasons for a GPU at rest, and for one at its power limit.
const (
	reasonIdle  = 0x1
	reasonPower = 0x4
)

func (g *board) clockReasons() int {
	switch {
	case g.clock(0) == idleClock:
		return reasonIdle
	case g.busy >= 0.9:
		return reasonPower
	default:
		return 0
	}
}

func (g *board) details(r *nvml.Reading, wobble func(uint64) float64) {
	s := &r.Sensors
	s.Energy = driver(math.Round(g.energy*1000) / 1000)
	s.EncoderUtilization, s.DecoderUtilization = driver(0), driver(0)
	s.SMClockMax, s.MemoryClockMax = driver(busyClock), driver(memoryClock)
	s.PCIeGeneration, s.PCIeGenerationMax = driver(pcieGeneration), driver(pcieGeneration)
	s.PCIeWidth, s.PCIeWidthMax = driver(pcieWidth), driver(pcieWidth)
	s.PCIeReceived = driver(rate(0.06*g.busy, pcieFull, wobble(6)))
	s.PCIeSent = driver(rate(0.02*g.busy, pcieFull, wobble(7)))
	s.BAR1Total, s.BAR1Used = driver(int(bar1)), driver(int(3*quantity.MiB))
	s.Persistence, s.ComputeMode = driver(1), driver(0)
	if r.MIGEnabled {
		return // under MIG the driver hides row remapping and links
	}
	s.RemappedCorrectable, s.RemappedUncorrectable = driver(0), driver(0)
	s.RemappingPending, s.RemappingFailed = driver(0), driver(0)
	sent, received := 0, 0
	for link := range linkCount {
		l := metric.NVLink{
			Link: link, Active: true, Replays: driver(uint64(0)), Recoveries: driver(uint64(0)), CRCErrors: driver(uint64(0)),
			Sent: driver(rate(0.3*g.busy, linkFull, wobble(32+uint64(link)))), Received: driver(rate(0.3*g.busy, linkFull, wobble(64+uint64(link)))),
		}
		sent, received = sent+l.Sent.Or(0), received+l.Received.Or(0)
		r.NVLinks = append(r.NVLinks, l)
	}
	s.NVLinkCount, s.NVLinksUp, s.NVLinkErrors = driver(linkCount), driver(linkCount), driver(0)
	s.NVLinkSent, s.NVLinkReceived = driver(sent), driver(received)
}

// rate returns a share of a link's capacity, in bytes per second.
func rate(share, full, wobble float64) int {
	return int(math.Round(max(share*full*(1+0.1*wobble), 0)))
}
