package snapshot

import "slices"

// offTheBus is the Xid of a GPU that has fallen off the bus, and comes back only after a reset or a
// reboot. https://docs.nvidia.com/deploy/xid-errors/
const offTheBus = 79

// StateWord returns the GPU's state in one or two words for a person, with more states than GPUState.
func (g *GPU) StateWord() string {
	switch {
	case g.State == GPULost && slices.ContainsFunc(g.XIDs, func(x XID) bool { return x.Code == offTheBus }):
		return "off the bus"
	case g.State == GPULost && g.Message == NotListed:
		return "not listed"
	case g.State == GPUOK && !g.answers():
		return "unknown"
	default:
		return string(g.State)
	}
}

// StateSince returns why a GPU is not ok, and since when: "lost since 12:02:03". In GPUError, the
// reason is the GPU's Message, if there is one. It may be hostile.
func (g *GPU) StateSince() string {
	what := string(g.State)
	if g.State == GPUError && g.Message != "" {
		what = g.Message
	}
	if !g.Since.IsZero() {
		what += " since " + g.Since.Format("15:04:05")
	}
	return what
}

// NotListed is the message of a GPU that the driver no longer lists.
const NotListed = "no longer listed"

func (g *GPU) answers() bool {
	return g.Memory.Used.Known() || g.Utilization.Known() || g.Temperature.Known() || g.Power.Known() || g.ProcessCount.Or(0) > 0
}
