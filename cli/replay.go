package cli

import (
	"sync"
	"time"

	"vramscope/sampler"
)

// replay is the clock of a simulated box that has a past: it says what the
// past says until the sampler has caught up, and the time from then on.
type replay struct {
	mu     sync.Mutex
	at     time.Time
	behind bool
	now    func() time.Time
}

// Now is the box's time.
func (r *replay) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind {
		return r.at
	}
	return r.now()
}

// advance moves a past moment on, and reports whether it is still past.
func (r *replay) advance(step time.Duration) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.behind {
		r.at = r.at.Add(step)
		r.behind = r.at.Before(r.now())
	}
	return r.at, r.behind
}

// catchUp has the sampler live through a simulated box's past, so that the
// first screen has a history: the same pipeline, ahead of time.
func (src *sources) catchUp(sampling *sampler.Sampler) {
	if src.replay == nil {
		return
	}
	const step = 5 * time.Second
	for at, past := src.replay.advance(0); past; at, past = src.replay.advance(step) {
		sampling.Tick(at)
	}
}
