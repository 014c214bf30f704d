package simulator

import (
	"math"

	"vramscope/internal/quantity"
	"vramscope/nvml"
)

// What an H100 SXM has: PCIe 5.0 x16, 18 links of NVLink 4 with 25 GB/s each way.
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

// clockReasons is why the clocks are not higher.
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

// details sets what a page about the GPU shows.
func (g *board) details(r *nvml.Reading, wobble func(uint64) float64) {
	s := &r.Sensors
	s.EncoderUtilization, s.DecoderUtilization = driver(0), driver(0)
	s.SMClockMax, s.MemoryClockMax = driver(busyClock), driver(memoryClock)
	s.PCIeGeneration, s.PCIeGenerationMax = driver(pcieGeneration), driver(pcieGeneration)
	s.PCIeWidth, s.PCIeWidthMax = driver(pcieWidth), driver(pcieWidth)
	s.PCIeReceived = driver(rate(0.06*g.busy, pcieFull, wobble(6)))
	s.PCIeSent = driver(rate(0.02*g.busy, pcieFull, wobble(7)))
	s.BAR1Total, s.BAR1Used = driver(int(bar1)), driver(int(3*quantity.MiB))
	s.Persistence, s.ComputeMode = driver(1), driver(0)
	if r.MIGEnabled {
		return // the driver hides rows and links
	}
	s.RemappedCorrectable, s.RemappedUncorrectable = driver(0), driver(0)
	s.RemappingPending, s.RemappingFailed = driver(0), driver(0)
	sent, received := 0, 0
	for link := range linkCount {
		l := nvml.NVLink{
			Link: link, Active: true, Replays: driver(uint64(0)), Recoveries: driver(uint64(0)), CRCErrors: driver(uint64(0)),
			Sent: driver(rate(0.3*g.busy, linkFull, wobble(32+uint64(link)))), Received: driver(rate(0.3*g.busy, linkFull, wobble(64+uint64(link)))),
		}
		sent, received = sent+l.Sent.Or(0), received+l.Received.Or(0)
		r.NVLinks = append(r.NVLinks, l)
	}
	s.NVLinkCount, s.NVLinksUp, s.NVLinkErrors = driver(linkCount), driver(linkCount), driver(0)
	s.NVLinkSent, s.NVLinkReceived = driver(sent), driver(received)
}

// rate is a share of what a link carries at most, in bytes/s.
func rate(share, full, wobble float64) int {
	return int(math.Round(max(share*full*(1+0.1*wobble), 0)))
}
