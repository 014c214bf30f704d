package service

import (
	"sync"
	"time"

	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// longPast is what a daemon, or the one before it, has recorded: its clients can ask
// for it. They wait for the disk; the sampler does not.
type longPast struct {
	directory string
	now       func() time.Time

	mu      sync.Mutex
	opened  *recording.Recording // nil until there is something to read
	retryAt time.Time
}

// before is what was recorded; nil where nothing was yet.
func (p *longPast) before() snapshot.History {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.opened == nil && !now.Before(p.retryAt) {
		p.opened, _ = recording.Open(p.directory) // the recorder says what is wrong with it
		p.retryAt = now.Add(time.Minute)
	}
	if p.opened == nil {
		return nil
	}
	return p.opened
}
