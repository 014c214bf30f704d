//go:build linux

package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// The screen that programs are measured on.
const columns, rows = 200, 50

// measured is one program's figures.
type measured struct {
	cpu            float64 // share of one core
	rss            int64   // bytes, at the end
	bytesPerSecond float64 // to the terminal
	firstFrame     time.Duration
}

// warmUp passes between the first frame and the measuring. A daemon has none: after a
// minute it looks for the probes of new processes as seldom as it ever does.
const (
	warmUp       = 3 * time.Second
	daemonWarmUp = time.Minute
)

// watch runs a program on the stage under a pseudo-terminal and measures it
// for so long. A daemon shows nothing.
func (s *stage) watch(length time.Duration, command []string, daemon bool) (measured, error) {
	var m measured
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = s.environment
	begin := time.Now()
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: columns, Rows: rows})
	if err != nil {
		return m, err
	}
	defer func() { _ = terminal.Close() }()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait() // killed: its exit status is meaningless
	}()

	var total atomic.Int64
	first := make(chan time.Duration, 1)
	go read(terminal, begin, &total, first)
	if daemon {
		time.Sleep(daemonWarmUp)
	} else {
		select {
		case m.firstFrame = <-first:
		case <-time.After(20 * time.Second):
			return m, fmt.Errorf("no GPU was shown within 20 s")
		}
		time.Sleep(warmUp)
	}

	cpu, bytes, from := cpuTime(cmd.Process.Pid), total.Load(), time.Now()
	time.Sleep(length)
	elapsed := time.Since(from)
	m.cpu = float64(cpuTime(cmd.Process.Pid)-cpu) / float64(elapsed)
	m.bytesPerSecond = float64(total.Load()-bytes) / elapsed.Seconds()
	m.rss = residentMemory(cmd.Process.Pid)
	if m.rss == 0 {
		return m, fmt.Errorf("it ended while it was watched")
	}
	return m, nil
}

// read reads the program's output, and sends the time at which a GPU's name first
// is on the screen.
func read(terminal io.Reader, begin time.Time, total *atomic.Int64, first chan<- time.Duration) {
	screen := vt.NewEmulator(columns, rows)
	go func() { _, _ = io.Copy(io.Discard, screen) }() // the emulator's answers to queries are dropped, as over a slow line
	shown := false
	buffer := make([]byte, 64<<10)
	for {
		n, err := terminal.Read(buffer)
		total.Add(int64(n))
		if !shown && n > 0 {
			_, _ = screen.Write(buffer[:n])
			if strings.Contains(screen.String(), "H100") {
				shown = true
				first <- time.Since(begin)
			}
		}
		if err != nil {
			return
		}
	}
}

// cpuTime is the time that a process's threads have been on a processor, those
// that have ended included: the process's CPU clock, whose number is made of its
// pid (clock_getcpuclockid(3); CPUCLOCK_SCHED in linux/posix-timers.h). 0 where
// the process has ended.
func cpuTime(pid int) time.Duration {
	const scheduler = 2
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// residentMemory is a process's, in bytes, 0 where it has ended.
func residentMemory(pid int) int64 {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	status, _ := process.NewStatus() // its zero value where the process has ended
	return int64(status.VmRSS)
}
