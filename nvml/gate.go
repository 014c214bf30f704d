package nvml

import "sync"

// gate keeps initialisation and calls apart. NVML's init and shutdown are
// process-wide, and a call that hangs in the driver can be neither joined nor
// cancelled: while one is counted here, nothing is opened or closed.
//
//	closed ──begin──→ changing ──end(true)──→ open ──enter/leave── calls
//	                     ↑──────────begin───────┘  (none outstanding)
type gate struct {
	mu          sync.Mutex
	open        bool
	changing    bool
	outstanding int
}

// enter counts a call in. It fails while the library is not open.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.changing:
		return ErrBusy
	case !g.open:
		return ErrUninitialized
	}
	g.outstanding++
	return nil
}

// leave counts a call out.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outstanding--
}

// begin starts an open or a close and reports whether the library was open.
// It fails with ErrBusy while a call is outstanding or another change is
// under way. Every begin that succeeds is followed by one end.
func (g *gate) begin() (wasOpen bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changing || g.outstanding > 0 {
		return g.open, ErrBusy
	}
	g.changing = true
	return g.open, nil
}

// end finishes the change.
func (g *gate) end(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changing = false
	g.open = open
}
