package attach

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hangTime is how long a thread may do nothing at all in the kernel before it
// counts as one that hangs there.
const hangTime = 2 * time.Second

// mustStop makes sure that no thread hangs in the kernel, in a call that cannot be
// interrupted: a driver that does not answer, a file system that has gone. A
// debugger would wait for that one for as long as it takes, with all the others
// stopped. Who reads from a disk is in such calls too, but comes back.
func (a *Attacher) mustStop(ctx context.Context, dir string) error {
	stuck := uninterruptible(dir, nil)
	for begun := a.now(); len(stuck) > 0; {
		a.pause(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("given up, nothing was done: %w", ctx.Err())
		}
		stuck = uninterruptible(dir, stuck)
		if a.now().Sub(begun) < hangTime {
			continue
		}
		return fmt.Errorf("thread %d of it hangs in the kernel (state D), where it cannot be stopped: the others would stand still for as long; nothing was done",
			slices.Min(slices.Collect(maps.Keys(stuck))))
	}
	return nil
}

// uninterruptible is every thread in state D, and how often it has been
// scheduled: of those that were known, the ones that have not been since.
func uninterruptible(dir string, known map[int]uint64) map[int]uint64 {
	found := make(map[int]uint64)
	look := func(id int) {
		content, err := os.ReadFile(filepath.Join(dir, "task", strconv.Itoa(id), "status"))
		if err != nil {
			return // it has ended
		}
		state, switches := parseSwitches(string(content))
		if before, ok := known[id]; state == 'D' && (known == nil || ok && before == switches) {
			found[id] = switches
		}
	}
	if known != nil {
		for id := range known {
			look(id)
		}
		return found
	}
	entries, err := os.ReadDir(filepath.Join(dir, "task"))
	if err != nil {
		return nil // it has ended: who stops it will say so
	}
	for _, entry := range entries {
		if id, err := strconv.Atoi(entry.Name()); err == nil {
			look(id)
		}
	}
	return found
}

// parseSwitches reads a thread's state, and how often it has given up a
// processor, or had to.
func parseSwitches(content string) (state byte, switches uint64) {
	for line := range strings.Lines(content) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "State":
			if value != "" {
				state = value[0]
			}
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				switches += n
			}
		}
	}
	return state, switches
}
