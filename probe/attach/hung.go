package attach

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// hangTime is how long a thread may be in the kernel without being scheduled
// before it counts as hung.
const hangTime = 2 * time.Second

// mustStop returns an error if a thread hangs in an uninterruptible call: a driver
// that does not answer, a file system that has gone. gdb would wait for that
// thread with all others stopped. Reading a disk is such a call too, but returns.
func (a *Attacher) mustStop(ctx context.Context, dir string) error {
	hung := uninterruptible(dir, nil)
	for begun := a.now(); len(hung) > 0; {
		a.pause(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("cancelled, nothing was done: %w", ctx.Err())
		}
		hung = uninterruptible(dir, hung)
		if a.now().Sub(begun) < hangTime {
			continue
		}
		return fmt.Errorf("its thread %d hangs in the kernel (state D) and cannot be stopped: the others would be stopped as long; nothing was done",
			slices.Min(slices.Collect(maps.Keys(hung))))
	}
	return nil
}

// uninterruptible returns the threads in state D with their context switches. With
// known, it returns those of them that have not been scheduled since.
func uninterruptible(dir string, known map[int]uint64) map[int]uint64 {
	ids, err := numbersIn(filepath.Join(dir, "task"))
	if err != nil {
		return nil // it has exited, which the next step reports
	}
	found := make(map[int]uint64)
	for _, id := range ids {
		before, ok := known[id]
		if known != nil && !ok {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, "task", strconv.Itoa(id), "status"))
		s, malformed := parseStatus(string(content))
		if err != nil || malformed != nil {
			continue // it has exited
		}
		if s.state == 'D' && (known == nil || before == s.switches) {
			found[id] = s.switches
		}
	}
	return found
}
