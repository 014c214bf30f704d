package sampler

import "vramscope/probe"

// adopt gives an answer that a daemon passed on the identity that its process has
// here: this user may not read the pid namespaces of others. It is false where the
// process is another one here, or none.
func (s *Sampler) adopt(a *probe.Answer) bool {
	known := s.byPID[a.Process.PID]
	if known == nil || !known.info.Identity.Same(a.Process) {
		return false
	}
	a.Process = known.info.Identity
	return true
}
