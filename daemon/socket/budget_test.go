package socket

import (
	"bufio"
	"context"
	"os"
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

// TestRequestsCostSomething: a client that asks for next to nothing in a loop uses its
// budget up, too.
func TestRequestsCostSomething(t *testing.T) {
	directory, s := serve(t, newBox(), mustShare(t, "none"))
	own := &budget{left: rate.NewLimiter(1, int(burst))}
	own.left.ReserveN(time.Now(), 1) // it is in use
	s.mu.Lock()
	s.users[uint32(os.Geteuid())] = own
	s.mu.Unlock()
	conn := connect(t, directory)
	const requests = 100
	in := bufio.NewScanner(conn)
	for range requests {
		if _, err := conn.Write([]byte("{}\n")); err != nil || !in.Scan() {
			t.Fatalf("no answer: %v, %v", err, in.Err())
		}
	}
	own.turn.Lock() // the last answer is sent before it is paid for
	defer own.turn.Unlock()
	if cost := float64(burst) - own.left.Tokens(); cost < float64(requests*requestCost) {
		t.Errorf("%d requests cost %s", requests, time.Duration(cost))
	}
}
