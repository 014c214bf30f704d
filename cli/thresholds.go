package cli

import "vramscope/sampler/alert"

// thresholds are the limits of the alert rules, as set.
func (s *settings) thresholds() alert.Thresholds {
	if s.lowMemory == 0 {
		return alert.Thresholds{LowMemoryFraction: -1} // off
	}
	return alert.Thresholds{LowMemoryFraction: float64(s.lowMemory) / 100}
}
