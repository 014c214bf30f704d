package attach

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// checkHindrance checks what would make the payload fail or harm, and notes what the
// program could not do with it.
func (a *Attacher) checkHindrance(ctx context.Context, plan *Plan, state *status) {
	if state.threads == 1 {
		plan.Note = "it has one thread: with a probe it cannot enter or make a user namespace (setns, unshare)"
	}
	if reason := a.otherFilters(ctx, plan.Process.PID); reason != "" {
		plan.fail(reason)
		plan.Instead = "" // a probe that run has installed stays out too
	} else {
		plan.pass("no seccomp filters of its own")
	}
	if reason := a.noDescriptors(ctx, plan.Process.PID); reason != "" {
		plan.fail(reason)
	}
}

// hindrance is what would make the payload's system calls fail or kill the
// process, or "". It may come at any time, so it is looked for more than once.
func (a *Attacher) hindrance(ctx context.Context, pid int) string {
	return cmp.Or(a.otherFilters(ctx, pid), a.noDescriptors(ctx, pid))
}

// otherFilters is the reason if a thread has seccomp filters that this program does
// not run under.
func (a *Attacher) otherFilters(ctx context.Context, pid int) string {
	own, err := readStatus(ctx, a.options.Proc, "self")
	if err != nil {
		return "" // the caller needs it too
	}
	task := filepath.Join(a.options.Proc, strconv.Itoa(pid), "task")
	threads, err := numbersIn(task)
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

// filtered is the reason if a thread has seccomp filters that this program, whose
// status is own, does not run under: one may kill the process for a system call of
// the probe. A container's filters are those of all its processes.
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

// seccompLine is the text in the status of a thread with as many filters as this
// program, whose status is s.
func (s *status) seccompLine() string {
	return fmt.Sprintf("\nSeccomp:\t2\nSeccomp_filters:\t%d\n", s.filters)
}

// descriptorsNeeded are the file descriptors that a probe has open while it starts
// and answers: those of its sockets, directories and the files that it reads.
const descriptorsNeeded = 8

// noDescriptors is the reason if a process has too few free file descriptors.
// Python 3.14 reports on the program's output that it cannot open the script.
func (a *Attacher) noDescriptors(ctx context.Context, pid int) string {
	dir := filepath.Join(a.options.Proc, strconv.Itoa(pid))
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
