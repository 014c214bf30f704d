package socket

import (
	"bufio"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestBudgetBoundsAClient: a client that asks in a loop uses no more than its share of a core.
func TestBudgetBoundsAClient(t *testing.T) {
	const share, saved, each, times = .2, 10 * time.Millisecond, 5 * time.Millisecond, 20
	b := &budget{left: rate.NewLimiter(rate.Limit(share*float64(time.Second)), int(saved))}
	cost := time.Duration(0)
	began := time.Now()
	for range times {
		cost += b.use(t.Context(), func() time.Duration { return each })
	}
	// All time must be earned before it is used, except the time saved at the start and that of the
	// last request.
	if took, earned := time.Since(began), time.Duration(float64(cost-saved-each)/share); cost != times*each || took < earned {
		t.Errorf("used %s in %s, which earn it in %s", cost, took, earned)
	}
}

// TestBudgetThatOwesNothingIsForgotten: otherwise every user that ever asked would be kept.
func TestBudgetThatOwesNothingIsForgotten(t *testing.T) {
	b := newBudget(userRate)
	if !b.full() {
		t.Error("a new budget owes something")
	}
	if b.use(t.Context(), func() time.Duration { return time.Hour }); b.full() {
		t.Error("an hour is forgotten")
	}
}

// TestBudgetOutlivesItsConnections: a client that connects again has the same budget while it owes
// something. So does a client that stays connected.
func TestBudgetOutlivesItsConnections(t *testing.T) {
	conn := &net.UnixConn{}
	s := &Server{open: map[*net.UnixConn]uint32{conn: alice}, users: make(map[uint32]*budget)}
	alices, bobs := s.budgetOf(alice), s.budgetOf(bob)
	if s.budgetOf(alice) != alices {
		t.Error("a user that is connected has another")
	}
	if len(s.users) != 1 {
		t.Errorf("of users that have gone there are %d", len(s.users)-1)
	}
	s.users[bob] = bobs
	bobs.use(t.Context(), func() time.Duration { return time.Hour })
	if s.budgetOf(alice); s.budgetOf(bob) != bobs {
		t.Error("a user that has gone owes nothing any more")
	}
}

// TestRequestsCostSomething: a client that makes the cheapest request in a loop uses up its budget
// too. The bytes sent cost as well.
func TestRequestsCostSomething(t *testing.T) {
	directory, s := serve(t, newBox(), mustShare(t, "none"))
	own := &budget{left: rate.NewLimiter(1, int(burst))}
	own.left.ReserveN(time.Now(), 1) // the budget is in use
	s.mu.Lock()
	s.users[uint32(os.Geteuid())] = own
	s.mu.Unlock()
	conn := connect(t, directory)
	const requests = 100
	in, sent := bufio.NewReader(conn), 0
	for range requests {
		_, err := conn.Write([]byte(`{"id":1,"cmd":"snapshot"}` + "\n"))
		line, failed := in.ReadString('\n')
		if sent += len(line); err != nil || failed != nil {
			t.Fatalf("no answer: %v, %v", err, failed)
		}
	}
	own.turn.Lock() // the last answer is sent before it is paid for
	defer own.turn.Unlock()
	if cost := float64(burst) - own.left.Tokens(); cost < float64(requests*requestCost+time.Duration(sent)) {
		t.Errorf("%d requests cost %s", requests, time.Duration(cost))
	}
}
