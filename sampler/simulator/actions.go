package simulator

import (
	"fmt"
	"syscall"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// Flush frees the cached memory of a process, and returns its reserved memory before and after.
// It refuses another process with the same pid.
func (b *Box) Flush(id process.Identity) (before, after quantity.Bytes, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil {
		return 0, 0, fmt.Errorf("simulator: flush: %w", err)
	}
	if t.memory == nil || t.role.runtime == opaque {
		return 0, 0, fmt.Errorf("simulator: flush: PID %d has no probe", id.PID)
	}
	before = t.memory.Stats().Reserved
	t.memory.Flush()
	after = t.memory.Stats().Reserved
	if t.probe.reported {
		// A flush is followed by a new report.
		t.probe.at, t.probe.stats = b.at, t.memory.Stats()
	}
	return before, after, nil
}

// Signal sends a signal to a simulated process: it ends, stops or continues. Other signals do
// nothing. On a lost GPU a process hangs in the driver and ends only when the GPU is back.
func (b *Box) Signal(id process.Identity, signal syscall.Signal) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil {
		return fmt.Errorf("simulator: signal: %w", err)
	}
	switch signal {
	case syscall.SIGTERM, syscall.SIGKILL, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT:
		t.ends = b.at
	case syscall.SIGSTOP:
		t.stopped = true
	case syscall.SIGCONT:
		t.stopped = false
	}
	return nil
}

// Retry lets a process that waits for a rescue try its allocation again, and reports whether that
// succeeded.
func (b *Box) Retry(id process.Identity) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil || !t.waits {
		return false
	}
	t.waits, t.retries = false, true
	t.run(b.at)
	t.retries = false
	return !t.failed
}

// find returns the task with that identity. The lock must be held.
func (b *Box) find(id process.Identity) (*task, error) {
	b.advance()
	t := b.tasks[id.PID]
	switch {
	case t == nil || t.role.foreign:
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is not there", id.PID)}
	case t.identity != id:
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
	}
	return t, nil
}
