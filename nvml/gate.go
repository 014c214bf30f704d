package nvml

import (
	"sync"
	"time"
)

// gate keeps initialisation and calls apart. NVML's init and shutdown are process-wide, and a call
// that hangs in the driver cannot be cancelled. So nothing is opened or closed while a call holds
// the lock for reading.
type gate struct {
	calls sync.RWMutex
	open  bool
}

// callTime is how long begin waits for calls to end. A measurement of throughput takes 40 ms.
const callTime = 100 * time.Millisecond

// enter starts a call, which leave ends. It fails if the library is not open, or is being opened or closed.
func (g *gate) enter() error {
	if !g.calls.TryRLock() {
		return ErrBusy
	}
	if !g.open {
		g.calls.RUnlock()
		return ErrUninitialized
	}
	return nil
}

func (g *gate) leave() { g.calls.RUnlock() }

// begin starts an open or a close and reports whether the library was open. It fails with ErrBusy if a call
// or another change takes longer than callTime. Every begin that succeeds is followed by one end.
func (g *gate) begin() (wasOpen bool, err error) {
	for end := time.Now().Add(callTime); !g.calls.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false, ErrBusy
		}
	}
	return g.open, nil
}

func (g *gate) end(open bool) {
	g.open = open
	g.calls.Unlock()
}
