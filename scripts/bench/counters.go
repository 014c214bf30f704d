//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// cpuTime returns how long a process's threads, ended ones included, have been on a
// processor, 0 if the process has ended. It reads the process's CPU clock, whose number
// is made from the pid (clock_getcpuclockid(3); CPUCLOCK_SCHED in linux/posix-timers.h).
func cpuTime(pid int) time.Duration {
	const scheduler = 2
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// memoryOf returns a process's resident memory and the anonymous part of it, in bytes, and
// how many threads it has; 0 if it has ended.
func memoryOf(pid int) (resident, anonymous int64, threads int) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, 0
	}
	status, _ := process.NewStatus() // the zero value if the process has ended
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return int64(status.VmRSS), int64(status.RssAnon), len(tasks)
}

// switchesOf returns how often the threads of a process have left a processor, by
// themselves or not. Each time counts as a wake-up.
func switchesOf(pid int) int64 {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid)) // the pattern is well-formed
	var sum int64
	for _, file := range files {
		status, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(status)) {
			if _, count, ok := strings.Cut(line, "ctxt_switches:"); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(count), 10, 64) // the kernel writes a number
				sum += n
			}
		}
	}
	return sum
}

// countSyscalls returns how many system calls a process makes a second, counted in the kernel for a
// time; NaN if perf is not installed or not permitted.
func countSyscalls(pid int, length time.Duration) float64 {
	cmd := exec.Command("perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-p", strconv.Itoa(pid),
		"sleep", strconv.FormatFloat(length.Seconds(), 'f', 2, 64))
	var out bytes.Buffer
	cmd.Stderr = &out
	_ = cmd.Run() // its output shows whether it worked
	count, _, _ := strings.Cut(strings.TrimSpace(out.String()), ",")
	n, err := strconv.ParseFloat(count, 64)
	if err != nil {
		n = math.NaN()
	}
	return n / length.Seconds()
}
