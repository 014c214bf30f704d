package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"vramscope/internal/process"
)

// thread is what one thread of a stopped process was doing.
type thread struct {
	id      int
	call    int // the system call that the thread is in; −1: none
	args    [6]uint64
	counter uint64 // program counter
	stack   uint64 // stack pointer
	inside  bool   // perhaps inside a signal handler
	small   bool   // its stack has too little space left
	loses   bool   // a call in it would take a signal's handler from the program
}

// readThreads reads /proc/PID/task of a stopped process. To keep the stop short, it returns at the
// first waiting thread with enough stack. It refuses if it meets a thread with seccomp filters of
// its own, which a thread started there would inherit.
func readThreads(dir string, python *python, own *status) ([]thread, error) {
	ids, err := process.NumbersIn(filepath.Join(dir, "task")) // the first thread comes first
	if err != nil {
		return nil, err
	}
	var all []thread
	var stacks []mapping
	for i, id := range ids {
		call, err := os.ReadFile(filepath.Join(dir, "task", strconv.Itoa(id), "syscall"))
		if errors.Is(err, os.ErrPermission) {
			return nil, err
		}
		state, failed := os.ReadFile(filepath.Join(dir, "task", strconv.Itoa(id), "status"))
		if err != nil || failed != nil {
			continue // the thread is exiting
		}
		t, ok := parseSyscall(string(call))
		s, err := parseStatus(string(state))
		if !ok || err != nil || s.state != 't' {
			continue // running or exited
		}
		if reason := s.filtered(own); reason != "" {
			return nil, &process.Refusal{Reason: reason}
		}
		t.id = id
		// The kernel blocks a signal while its handler runs.
		t.inside = s.blocked&s.caught != 0
		t.loses = s.losesHandler()
		if i > 0 { // the first thread's stack grows
			if stacks == nil {
				maps, err := readProc(context.Background(), mapsSize, dir, "maps")
				if err != nil {
					return nil, err
				}
				stacks = parseMaps(maps)
			}
			t.small = spaceBelow(stacks, t.stack) < minStack
		}
		all = append(all, t)
		if t.waits(python.library) && !t.inside && !t.small {
			break
		}
	}
	return all, nil
}

// losesHandler reports whether a call that gdb makes in the thread would reset a signal handler of
// the program. The call returns with a fault. If the thread blocks the fault's signal, the kernel
// unblocks the signal and resets its handler.
// Source: force_sig_info_to_task in kernel/signal.c of Linux
func (s *status) losesHandler() bool {
	const faults = 1<<(syscall.SIGSEGV-1) | 1<<(syscall.SIGTRAP-1)
	return s.blocked&s.caught&faults != 0
}

// parseSyscall parses "7 0x7ff… 0x1 … SP PC", or "-1 SP PC" outside a system call.
// For a running thread the file contains "running".
// Source: https://man7.org/linux/man-pages/man5/proc_pid_syscall.5.html
func parseSyscall(line string) (thread, bool) {
	fields := strings.Fields(line)
	if len(fields) != 3 && len(fields) != 9 {
		return thread{}, false
	}
	call, err := strconv.Atoi(fields[0])
	if err != nil || call < -1 || (call < 0) != (len(fields) == 3) {
		return thread{}, false
	}
	t := thread{call: call}
	for i, field := range fields[1:] {
		n, err := strconv.ParseUint(strings.TrimPrefix(field, "0x"), 16, 64)
		if err != nil {
			return thread{}, false
		}
		switch {
		case i == len(fields)-2:
			t.counter = n
		case i == len(fields)-3:
			t.stack = n
		case i < len(fields)-3:
			t.args[i] = n
		}
	}
	return t, true
}

// minStack is the stack space needed to start a thread. Binding a function's name
// on its first call needs some KiB too, to save the vector registers.
const minStack = 64 << 10

// choose picks the thread in which to start the new thread, if there is a suitable one. Waiting
// threads come before computing ones, and lower IDs first.
func choose(threads []thread, python *python) (thread, bool) {
	for _, fits := range []func(*thread) bool{
		func(t *thread) bool { return t.waits(python.library) && !t.inside },
		func(t *thread) bool { return t.waits(python.library) },
		// CPython's own code holds no lock of the C library, unless it runs in a signal handler.
		func(t *thread) bool { return t.call < 0 && !t.inside && t.in(python.text) },
	} {
		for i := range threads {
			if !threads[i].small && !threads[i].loses && fits(&threads[i]) {
				return threads[i], true
			}
		}
	}
	return thread{}, false
}

// waits reports whether the thread is in a system call across which no lock of the
// C library's heap is held. The heap's locks wait in futex with FUTEX_WAIT;
// semaphores and conditions (Python's locks and the GIL) with FUTEX_WAIT_BITSET.
//
// The C library must have made the call. Otherwise the thread may belong to another runtime, with a
// stack of any size (a goroutine's has 2 KiB), or wait for a lock of another allocator.
// Source: sysdeps/nptl/futex-internal.h and lowlevellock.h of glibc
func (t *thread) waits(library []mapping) bool {
	calls := waiting[runtime.GOARCH]
	if calls == nil || t.call < 0 || !t.in(library) {
		return false
	}
	if t.call == calls.futex {
		const waitBitset, commandMask = 9, 0x7f
		return t.args[1]&commandMask == waitBitset
	}
	return slices.Contains(calls.others, t.call)
}

// in reports whether the program counter is in one of the mappings.
func (t *thread) in(text []mapping) bool {
	return slices.ContainsFunc(text, func(m mapping) bool { return m.start <= t.counter && t.counter < m.end })
}

type calls struct {
	futex  int
	others []int
}

// waiting are the system calls in which a thread waits for something unrelated to the C library.
// Source: https://github.com/torvalds/linux/tree/master/arch, syscall tables
var waiting = map[string]*calls{
	"amd64": {futex: 202, others: []int{
		0,      // read
		7, 271, // poll, ppoll
		23, 270, // select, pselect6
		232, 281, 441, // epoll_wait, epoll_pwait, epoll_pwait2
		35, 230, // nanosleep, clock_nanosleep
		45, 47, 299, // recvfrom, recvmsg, recvmmsg
		43, 288, // accept, accept4
		61, 247, // wait4, waitid
		34, 128, 130, // pause, rt_sigtimedwait, rt_sigsuspend
		208, // io_getevents
	}},
}

// String describes the thread in the error when no thread is usable.
func (t *thread) String() string {
	if t.loses {
		return fmt.Sprintf("thread %d blocks a fault's signal that the program handles", t.id)
	}
	if t.call < 0 {
		return fmt.Sprintf("thread %d computes at %#x", t.id, t.counter)
	}
	return fmt.Sprintf("thread %d is in system call %d", t.id, t.call)
}
