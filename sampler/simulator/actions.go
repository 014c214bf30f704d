package simulator

import (
	"fmt"
	"syscall"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// Flush frees the cached memory of a process. A dry run returns the returnable memory in the
// process's last report. Flush refuses if another process has the pid.
func (b *Box) Flush(id process.Identity, dryRun bool) (probe.Flushed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil {
		return probe.Flushed{}, fmt.Errorf("simulator: flush: %w", err)
	}
	stats, known := t.stats()
	if !known {
		return probe.Flushed{}, fmt.Errorf("simulator: flush: PID %d has no probe", id.PID)
	}
	if dryRun {
		reported := t.probe.stats
		return flushed(t, reported.Reserved, reported.Reserved-reported.Returnable), nil
	}
	before := stats.Reserved
	if t.cache != nil { // JAX keeps its region until it ends
		t.cache.Flush()
	}
	stats, _ = t.stats()
	if t.probe.reported {
		t.probe.at, t.probe.stats = b.at, stats
	}
	return flushed(t, before, stats.Reserved), nil
}

func flushed(t *task, before, after quantity.Bytes) probe.Flushed {
	return probe.Flushed{UUID: t.uuid(), BeforeBytes: before, AfterBytes: after, FreedBytes: before - after}
}

// Signal sends a signal to a simulated process, which ends, stops or continues. Other signals do
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
