package simulator

import "time"

// MaxPrelude is how much of the story's past a box can live through. Earlier
// than that too many of its people have not begun what the story finds them at.
const MaxPrelude = 45 * time.Minute

// prepare puts the seat's first task where it belongs when the box begins to
// live: it runs since before, starts on the way to the story, or comes later.
func (b *Box) prepare(s *seat) {
	r := &s.role
	switch begins := -r.age; {
	case r.age > 0 && begins <= b.at:
		b.resume(s)
	case r.age > 0:
		s.pid, s.starts = r.pid, begins
	case b.at < 0:
		// The one before has ended a while ago.
		s.starts = s.mind(b.at, b.at+span{0, r.pause.least}.draw(s.random))
	default:
		s.starts = r.first
	}
}

// mind puts a start off, or brings it forward, to the story's first one where
// the task would miss it or might still be there: whatever has happened before,
// the story's own come on time.
func (s *seat) mind(now, starts time.Duration) time.Duration {
	r := &s.role
	if r.age == 0 && now < r.first && starts+r.life.most+r.pause.least > r.first {
		return r.first
	}
	return starts
}

// newestPID is the pid of the last process that has started when the box
// begins to live: later ones have higher pids.
func (b *Box) newestPID() int {
	newest := 0
	for _, s := range b.seats {
		if s.task != nil {
			newest = max(newest, s.role.pid)
		}
	}
	return newest
}

// within is where in a period a moment falls, before the story begins too.
func within(now, period time.Duration) time.Duration {
	return ((now % period) + period) % period
}
