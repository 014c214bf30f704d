package socket

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// budget limits the daemon's time that some clients may use. A request over the limit
// waits its turn: it is not refused, and it does not slow the sampler.
type budget struct {
	turn sync.Mutex
	left *rate.Limiter // in nanoseconds; negative when in debt
}

// The budgets. A monitor that asks once a second what the probes of 1,024
// processes report uses .001 of a core, as the answer is made once for all.
const (
	userRate   = .02
	othersRate = .05 // all users but the owner and root
	ownersRate = .25
	burst      = 250 * time.Millisecond // that may be saved up
	// What a request costs beside its answer: the system calls.
	requestCost = 30 * time.Microsecond
)

func newBudget(share float64) *budget {
	return &budget{left: rate.NewLimiter(rate.Limit(share*float64(time.Second)), int(burst))}
}

// use waits until the budget is out of debt, and takes what act has cost off it.
func (b *budget) use(ctx context.Context, act func() time.Duration) (cost time.Duration) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.left.WaitN(ctx, 0) != nil {
		return 0
	}
	cost = act()
	now, most := time.Now(), time.Duration(b.left.Burst()) // of one reservation
	for owed := cost; owed > 0; owed -= most {
		b.left.ReserveN(now, int(min(owed, most)))
	}
	return cost
}

// full reports whether nothing is owed: such a budget can be forgotten.
func (b *budget) full() bool { return b.left.Tokens() >= float64(b.left.Burst()) }

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
