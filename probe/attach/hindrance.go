package attach

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
)

// checkHindrance checks what would make the payload fail or do harm, and notes what the program
// cannot do with a probe.
func (a *Attacher) checkHindrance(ctx context.Context, plan *Plan, state *status) {
	if state.threads == 1 {
		plan.Note = "it has one thread: with a probe it cannot enter or make a user namespace (setns, unshare)"
	}
	if reason := a.otherFilters(ctx, plan.Process.PID); reason != "" {
		plan.fail(reason)
		plan.Instead = "" // a probe that vramscope run installs would not start either
	} else {
		plan.pass("no seccomp filters of its own")
	}
	if reason := a.noDescriptors(ctx, plan.Process.PID); reason != "" {
		plan.fail(reason)
	}
}

// hindrance returns what would make the payload's system calls fail or kill the process, or "". It
// may appear at any time, so there is more than one check.
func (a *Attacher) hindrance(ctx context.Context, pid int) string {
	return cmp.Or(a.otherFilters(ctx, pid), a.noDescriptors(ctx, pid))
}

// otherFilters returns the reason if a thread of the process has seccomp filters of its own.
func (a *Attacher) otherFilters(ctx context.Context, pid int) string {
	own, err := readStatus(ctx, a.proc, "self")
	if err != nil {
		return "" // enter reads it, too, and reports the error
	}
	task := filepath.Join(a.proc, strconv.Itoa(pid), "task")
	threads, err := process.NumbersIn(task)
	if err != nil {
		return "" // it has exited
	}
	for _, id := range threads {
		state, err := readStatus(ctx, task, strconv.Itoa(id))
		if err != nil {
			continue // it has exited
		}
		if reason := state.filtered(&own); reason != "" {
			return reason
		}
	}
	return ""
}

// filtered returns the reason if a thread has seccomp filters of its own: they may kill the process
// for a system call of the probe. A thread with as many filters as this program, whose status is
// own, is taken to have only those of their common container.
func (s *status) filtered(own *status) string {
	switch {
	case s.seccomp == 0 || s.seccomp == 2 && s.filters > 0 && s.filters == own.filters:
		return ""
	case s.seccomp == 1:
		return "strict seccomp: another thread would kill it"
	case s.filters == 0:
		return "it has seccomp filters, which may kill it for a call of the probe; Linux before 5.9 does not report how many are its own"
	default:
		return fmt.Sprintf("it has other seccomp filters than vramscope (%d, vramscope %d), which may kill it for a call of the probe", s.filters, own.filters)
	}
}

const descriptorsNeeded = 8 // how many a probe has open while it starts and answers

// noDescriptors returns the reason if a process has too few free file descriptors. Python 3.14 would
// then print in the program's output that it cannot open the script.
func (a *Attacher) noDescriptors(ctx context.Context, pid int) string {
	dir := filepath.Join(a.proc, strconv.Itoa(pid))
	state, err := readStatus(ctx, dir)
	if err != nil {
		return "" // it has exited
	}
	content, err := readProc(ctx, 64<<10, dir, "limits")
	_, rest, ok := strings.Cut(content, "Max open files")
	fields := strings.Fields(rest)
	if err != nil || !ok || len(fields) == 0 {
		return ""
	}
	limit, err := strconv.Atoi(fields[0])
	if err != nil || state.slots+descriptorsNeeded <= limit {
		return "" // unlimited, or certainly enough
	}
	files, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return ""
	}
	defer func() { _ = files.Close() }() // only read
	names, err := files.Readdirnames(-1)
	open := 0
	for _, name := range names {
		if n, failed := strconv.Atoi(name); failed == nil && n < limit {
			open++
		}
	}
	if err != nil || open+descriptorsNeeded <= limit {
		return ""
	}
	return fmt.Sprintf("it has %d of %d file descriptors open, and a probe needs %d", open, limit, descriptorsNeeded)
}

const maxThreads = 5000 // gdb stops a thousand threads in a little less than a second

func checkThreads(plan *Plan, state *status) {
	switch {
	case state.shadowStack:
		plan.fail("it has shadow stacks, which a debugger's calls break")
	case state.threads > maxThreads:
		plan.fail(fmt.Sprintf("it has %d threads: stopping them takes seconds", state.threads))
	}
}

// frozen reports whether the process's cgroup is frozen, as by docker pause: a
// debugger's calls would not return.
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html (cgroup.events)
func (a *Attacher) frozen(ctx context.Context, pid int) bool {
	content, err := readProc(ctx, 64<<10, a.proc, strconv.Itoa(pid), "cgroup")
	if err != nil {
		return false
	}
	for _, path := range freezers(content) {
		state, err := readProc(ctx, 4<<10, a.cgroups, path)
		if err == nil && (strings.Contains(state, "frozen 1") || strings.HasPrefix(state, "FR")) {
			return true
		}
	}
	return false
}

// freezers returns the files with the state of a process's cgroups, below the mount point of
// cgroups. Join drops the /.. with which a path outside this program's cgroup namespace begins.
func freezers(content string) []string {
	var files []string
	for line := range strings.Lines(content) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		path := filepath.Join("/", fields[2])
		switch fields[1] {
		case "":
			files = append(files, filepath.Join(path, "cgroup.events"), filepath.Join("/unified", path, "cgroup.events"))
		case "freezer":
			files = append(files, filepath.Join("/freezer", path, "freezer.state"))
		}
	}
	return files
}

const hangTime = 2 * time.Second // a thread that is not scheduled for this long hangs

// mustStop returns an error if a thread hangs in an uninterruptible call, of a driver or a file
// system that does not answer. gdb would wait for that thread with all others stopped.
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

// uninterruptible returns the threads in state D with their context switches. If known is not nil, it
// returns only the threads in known that have not been scheduled since.
func uninterruptible(dir string, known map[int]uint64) map[int]uint64 {
	ids, err := process.NumbersIn(filepath.Join(dir, "task"))
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
