package probe

import (
	"sync"
	"time"
)

// bucket is a rate limit: burst times at once, and once more in each period.
type bucket struct {
	clock  func() time.Time
	burst  int
	period time.Duration

	mu    sync.Mutex
	spent float64   // of burst
	at    time.Time // when spent was true
}

// take takes one, or returns how long to wait for one.
func (b *bucket) take() (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock()
	if elapsed := now.Sub(b.at); elapsed > 0 {
		b.spent = max(0, b.spent-elapsed.Seconds()/b.period.Seconds())
	}
	b.at = now
	if over := b.spent + 1 - float64(b.burst); over > 0 {
		return time.Duration(over * float64(b.period))
	}
	b.spent++
	return 0
}
