package socket

import (
	"context"
	"sync"
	"time"
)

// budget is how much of the daemon's time some clients may use. A request that is
// over it waits, one at a time: none is refused, and none slows the sampler.
type budget struct {
	rate  float64       // of a core
	burst time.Duration // that may be saved up
	turn  sync.Mutex

	mu    sync.Mutex
	saved time.Duration // less than nothing: in debt
	at    time.Time
}

// The budgets. A monitor that asks once a second what the probes of 1,024
// processes report uses .001 of a core, as the answer is made once for all.
const (
	userRate   = .02
	othersRate = .05 // all users but the owner and root
	ownersRate = .25
	burst      = 250 * time.Millisecond
	// What a request costs beside its answer: the system calls.
	requestCost = 30 * time.Microsecond
)

func newBudget(rate float64, burst time.Duration) *budget {
	return &budget{rate: rate, burst: burst, saved: burst, at: time.Now()}
}

// use waits until the budget is out of debt, and takes what act has cost off it.
func (b *budget) use(ctx context.Context, act func() time.Duration) (cost time.Duration) {
	b.turn.Lock()
	defer b.turn.Unlock()
	pause(ctx, b.debt())
	if ctx.Err() == nil {
		cost = act()
		b.spend(cost)
	}
	return cost
}

// debt is how long until something is saved.
func (b *budget) debt() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.earn()
	if b.saved > 0 {
		return 0
	}
	return time.Duration(float64(time.Microsecond-b.saved) / b.rate)
}

func (b *budget) spend(cost time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.earn()
	b.saved -= cost
}

// full reports whether nothing is owed: such a budget can be forgotten.
func (b *budget) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.earn()
	return b.saved >= b.burst
}

func (b *budget) earn() {
	now := time.Now()
	b.saved = min(b.saved+time.Duration(float64(now.Sub(b.at))*b.rate), b.burst)
	b.at = now
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
		time.Sleep(wakeUp)
	}
}

// wakeUp is a pause between waking up and a system call, as the sampler makes it.
const wakeUp = 2 * time.Millisecond
