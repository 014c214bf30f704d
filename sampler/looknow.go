package sampler

import "time"

// LookNow asks at once for a driver that is away and for GPUs that are lost,
// instead of waiting until their next try is due: somebody has just loaded
// the module, or pushed the cable in.
func (s *Sampler) LookNow() {
	s.do(func() {
		if s.isSuspended() {
			return
		}
		s.driver.state.RetryAt = time.Time{}
		for _, g := range s.driver.gpus {
			g.retryAt = time.Time{}
		}
		s.Tick(s.options.Clock())
	})
}
