package socket

import (
	"context"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestBudgetBoundsAClient: what a client asks for in a loop takes its rate of a core.
func TestBudgetBoundsAClient(t *testing.T) {
	b := &budget{left: rate.NewLimiter(rate.Limit(.02*float64(time.Second)), int(10*time.Millisecond))}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(time.Second, cancel)
	cost := time.Duration(0)
	began := time.Now()
	for ctx.Err() == nil {
		cost += b.use(ctx, func() time.Duration { return 5 * time.Millisecond })
	}
	// Saved up, earned, and the one request that went into debt.
	if most := 10*time.Millisecond + time.Duration(.02*float64(time.Since(began))) + 5*time.Millisecond; cost > most {
		t.Errorf("used %s of at most %s", cost, most)
	}
	if cost < 15*time.Millisecond {
		t.Errorf("used only %s", cost)
	}
}

// TestBudgetThatOwesNothingIsForgotten: else a user that once asked would be kept for ever.
func TestBudgetThatOwesNothingIsForgotten(t *testing.T) {
	b := newBudget(userRate)
	if !b.full() {
		t.Error("a new budget owes something")
	}
	if b.use(t.Context(), func() time.Duration { return time.Hour }); b.full() {
		t.Error("an hour is forgotten")
	}
}
