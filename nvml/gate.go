package nvml

import (
	"sync"
	"time"
)

// gate keeps initialisation and calls apart. NVML's init and shutdown are
// process-wide, and a call that hangs in the driver cannot be cancelled: while a
// call is counted here, nothing is opened or closed.
//
//	closed ──begin──→ changing ──end(true)──→ open ──enter/leave── calls
//	                     ↑──────────begin───────┘  (none outstanding)
type gate struct {
	mu          sync.Mutex
	open        bool
	changing    bool
	outstanding int
	short       int // those of outstanding that soon end by themselves
}

// shortCalls is how long begin waits for short calls.
const shortCalls = 200 * time.Millisecond

// The kinds of calls.
const (
	longCall  = 0
	shortCall = 1 // ends within shortCalls unless it hangs
)

// enter counts a call in. It fails while the library is not open.
func (g *gate) enter(kind int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.changing:
		return ErrBusy
	case !g.open:
		return ErrUninitialized
	}
	g.outstanding++
	g.short += kind
	return nil
}

func (g *gate) leave(kind int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outstanding--
	g.short -= kind
}

// begin starts an open or a close and reports whether the library was open. It waits for short
// calls, and fails with ErrBusy while another call is outstanding or another change is under way.
// Every begin that succeeds is followed by one end.
func (g *gate) begin() (wasOpen bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for end := time.Now().Add(shortCalls); g.short > 0 && g.short == g.outstanding && time.Now().Before(end); {
		g.mu.Unlock()
		time.Sleep(time.Millisecond)
		g.mu.Lock()
	}
	if g.changing || g.outstanding > 0 {
		return g.open, ErrBusy
	}
	g.changing = true
	return g.open, nil
}

func (g *gate) end(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changing = false
	g.open = open
}
