package terminal

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
)

// output writes to the terminal without long waits: a terminal that takes no output (a stopped SSH client, a full pipe
// of a multiplexer) must not block the event loop.
//
//	Write ──→ pending ──→ goroutine ── write(2), may block ──→ terminal
//
// A Write waits up to outputTimeout until all is taken. After that the terminal counts as stalled: the model stops
// drawing (Stalled) until drained reports that everything has been taken. Output that would exceed pendingLimit is
// dropped, and the screen has to be drawn again.
//
// output is a term.File, because Bubble Tea recognises nothing else as a terminal.
type output struct {
	file    *os.File        // asked for size and modes
	device  *os.File        // the same terminal, opened again so that a write can be ended
	drained func(lost bool) // called without the lock, from the writing goroutine
	failed  func(error)     // called as drained is, with the first error

	mu      sync.Mutex
	pending []byte
	taken   chan struct{} // closed when nothing is pending any more
	stalled bool
	lost    bool // bytes were dropped, which drained will report
	err     error
	closed  bool

	wake     chan struct{}
	finished chan struct{}
}

const (
	// outputTimeout is how long a Write waits for a terminal that is slow.
	outputTimeout = 20 * time.Millisecond
	// pendingLimit is more than a whole frame of the largest screen.
	pendingLimit = 1 << 20
)

func newOutput(file *os.File, drained func(lost bool), failed func(error)) *output {
	o := &output{
		file:     file,
		device:   reopened(file, unix.O_WRONLY),
		drained:  drained,
		failed:   failed,
		wake:     make(chan struct{}, 1),
		finished: make(chan struct{}),
	}
	go o.run()
	return o
}

// Write implements io.Writer. It fails on a closed terminal or a stopped output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	if o.err != nil || o.closed {
		err := o.err
		o.mu.Unlock()
		if err == nil {
			err = os.ErrClosed
		}
		return 0, err
	}
	if len(o.pending)+len(p) > pendingLimit {
		o.lost = true
		o.mu.Unlock()
		return len(p), nil
	}
	o.pending = append(o.pending, p...)
	if o.taken == nil {
		o.taken = make(chan struct{})
	}
	taken, wait := o.taken, !o.stalled
	o.mu.Unlock()

	o.signal()
	if wait && !bounded.Ended(taken, outputTimeout) {
		o.mu.Lock()
		o.stalled = o.taken != nil // it may have been taken just now
		o.mu.Unlock()
	}
	return len(p), nil
}

// Stalled reports whether the terminal is not taking what is written to it.
func (o *output) Stalled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stalled
}

// Flush waits until all is written, and returns false after the timeout.
func (o *output) Flush(timeout time.Duration) bool {
	o.mu.Lock()
	taken := o.taken
	o.mu.Unlock()
	return taken == nil || bounded.Ended(taken, timeout)
}

// Interrupt drops the pending output and ends the write under way. It returns false if it could not end the write.
func (o *output) Interrupt() bool {
	o.mu.Lock()
	o.pending = nil
	o.mu.Unlock()
	if o.device == o.file {
		return false
	}
	if err := o.device.SetWriteDeadline(time.Now()); err != nil {
		return false
	}
	ended := o.Flush(flushTimeout)
	return o.device.SetWriteDeadline(time.Time{}) == nil && ended
}

// Stop ends the goroutine. It does not wait for a write that is still blocked.
func (o *output) Stop() {
	o.mu.Lock()
	o.closed = true
	idle := o.taken == nil
	o.mu.Unlock()
	o.signal()
	if idle {
		<-o.finished
		if o.device != o.file {
			_ = o.device.Close() // all has been written
		}
	}
}

// signal wakes the writing goroutine. A Write may come after Stop: nothing closes the channel.
func (o *output) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // it is awake
	}
}

func (o *output) run() {
	defer close(o.finished)
	for !o.drain() {
		<-o.wake
	}
}

// drain writes until nothing is pending or a write fails, and reports whether the output was stopped.
func (o *output) drain() (stopped bool) {
	for {
		o.mu.Lock()
		batch := o.pending
		o.pending = nil
		if len(batch) == 0 || o.err != nil {
			stopped = o.closed
			o.settle()
			return stopped
		}
		o.mu.Unlock()

		_, err := o.device.Write(batch)

		o.mu.Lock()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			o.lost = true
			err = nil
		}
		if err != nil && o.err == nil {
			o.err = err
			stopped = o.closed
			o.settle()
			o.failed(err)
			return stopped
		}
		o.mu.Unlock()
	}
}

// settle ends a round of writing; it is called with the lock and releases it.
func (o *output) settle() {
	wasStalled, lost := o.stalled, o.lost
	o.stalled, o.lost = false, false
	if o.taken != nil {
		close(o.taken)
		o.taken = nil
	}
	o.mu.Unlock()
	if wasStalled || lost {
		o.drained(lost)
	}
}

func (o *output) Fd() uintptr { return o.file.Fd() }

// Read implements term.File; nothing is read from the output.
func (o *output) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements term.File; the file belongs to the caller of open.
func (o *output) Close() error { return nil }
