package simulator

import "time"

// MaxPrelude is the longest prelude. Before it too many programs of the story have
// not started.
const MaxPrelude = 45 * time.Minute

// prepare sets up the slot's first task at the beginning of the prelude: it is
// running, starts in the prelude, or starts later.
func (b *Box) prepare(s *slot) {
	r := &s.role
	switch begins := -r.age; {
	case r.age > 0 && begins <= b.at:
		b.resume(s)
	case r.age > 0:
		s.pid, s.starts = r.pid, begins
	case b.at < 0:
		// The task before has ended.
		s.starts = s.reschedule(b.at, b.at+span{0, r.pause.least}.draw(s.random))
	default:
		s.starts = r.first
	}
}

// reschedule moves a start to the first one of the story where the task could still
// be running then: in the story all tasks start on time.
func (s *slot) reschedule(now, starts time.Duration) time.Duration {
	r := &s.role
	if r.age == 0 && now < r.first && starts+r.life.most+r.pause.least > r.first {
		return r.first
	}
	return starts
}

// within is the place of a moment in a period, also in the prelude.
func within(now, period time.Duration) time.Duration {
	return ((now % period) + period) % period
}
