package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// testTimeout is how long tests wait for an event, even on a loaded machine.
const testTimeout = time.Minute

// watch runs a monitor on one directory until the test ends. It waits for answers
// up to testTimeout.
func watch(t testing.TB, directory string) *Monitor {
	t.Helper()
	m := newMonitor(directory)
	run(t, m)
	return m
}

// watchWithDeadline does what watch does, with a real monitor's deadline.
func watchWithDeadline(t testing.TB, directory string) *Monitor {
	t.Helper()
	m := newMonitor(directory)
	m.finder.deadline = StatsDeadline
	run(t, m)
	return m
}

// slowFinder waits for answers up to testTimeout.
func slowFinder() *Finder {
	f := NewFinder(process.NewTable("/proc"))
	f.deadline = testTimeout
	return f
}

func newMonitor(directory string) *Monitor {
	m := NewMonitor(slowFinder(), nil, []string{directory})
	m.interval, m.scanInterval = 20*time.Millisecond, 20*time.Millisecond
	return m
}

func run(t testing.TB, m *Monitor) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		m.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// answerOf returns a monitor's answer for a pid, or nil.
func answerOf(m *Monitor, pid int) *Answer {
	for _, a := range m.Answers() {
		if a.Process.PID == pid {
			return &a
		}
	}
	return nil
}

func answers(m *Monitor, pid int) bool {
	a := answerOf(m, pid)
	return a != nil && a.Err == nil && !a.At.IsZero()
}

func TestMonitorFindsReadsAndFlushes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	c := spawn(t, "serve", dir)
	m := watch(t, dir)
	m.Settle(soon(t))
	a := answerOf(m, c.pid())
	if a == nil || a.Err != nil || a.Hello.PID != c.pid() || a.Report.Devices[0].Allocators[0].Cached.Or(0) != 4*quantity.GiB {
		t.Fatalf("after Settle: %+v", a)
	}
	if age := time.Since(a.At); age < 0 || age > 10*time.Second {
		t.Errorf("its age is %v", age)
	}
	result, err := m.Flush(soon(t), a.Process, FlushRequest{Level: Urgent})
	if err != nil || result.Devices[0].FreedBytes != 4*quantity.GiB {
		t.Fatalf("flush: %+v, %v", result, err)
	}
	eventually(t, "the stats show the flush", func() bool {
		return answerOf(m, c.pid()).Report.Devices[0].Allocators[0].Cached.Or(1) == 0
	})
	eventually(t, "hello shows the new size of the cache", func() bool {
		caches := answerOf(m, c.pid()).Hello.Evictable
		return len(caches) == 2 && caches[0].Bytes.Or(0) == 6*quantity.GiB && !caches[1].Bytes.Known()
	})
	before := answerOf(m, c.pid()).At
	eventually(t, "it is asked again", func() bool { return answerOf(m, c.pid()).At.After(before) })
}

func TestFlushOfOtherProcessIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	c := spawn(t, "serve", dir)
	m := watch(t, dir)
	m.Settle(soon(t))
	id := answerOf(m, c.pid()).Process
	for name, other := range map[string]process.Identity{
		"is another process now": {PID: id.PID, StartTime: id.StartTime - 1, Namespace: id.Namespace},
		"has exited":             {PID: 1<<22 + 1, StartTime: 5},
	} {
		var refused *process.Refusal
		if _, err := m.Flush(soon(t), other, FlushRequest{Level: Urgent}); !errors.As(err, &refused) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Flush(soon(t), id, FlushRequest{Level: Urgent}); err != nil {
		t.Errorf("the right process: %v", err)
	}
	self, err := process.NewTable("/proc").Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Flush(soon(t), self, FlushRequest{Level: Urgent}); !errors.Is(err, ErrNoProbe) {
		t.Errorf("a process without a probe: %v", err)
	}
}

func TestKilledProbeIsForgotten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	c := spawn(t, "serve", dir)
	m := watch(t, dir)
	eventually(t, "the probe answers", func() bool { return answers(m, c.pid()) })
	c.kill()
	if _, err := os.Lstat(c.socket); err != nil {
		t.Fatalf("its socket: %v", err)
	}
	eventually(t, "it is forgotten", func() bool { return answerOf(m, c.pid()) == nil })
}

func TestStoppedProbeKeepsLastAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	stopped, other := spawn(t, "serve", dir), spawn(t, "serve", dir)
	m := watchWithDeadline(t, dir)
	eventually(t, "both answer", func() bool { return answers(m, stopped.pid()) && answers(m, other.pid()) })
	if err := stopped.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its timeout is reported", func() bool { return errors.Is(answerOf(m, stopped.pid()).Err, ErrLate) })
	last := answerOf(m, stopped.pid())
	if len(last.Report.Devices) != 1 || last.At.IsZero() {
		t.Errorf("its last answer was dropped: %+v", last)
	}
	before := answerOf(m, other.pid()).At
	eventually(t, "the other still answers", func() bool { return answerOf(m, other.pid()).At.After(before.Add(100 * time.Millisecond)) })
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := m.Flush(ctx, last.Process, FlushRequest{Level: Urgent}); !errors.Is(err, ErrLate) || !errors.Is(err, ErrUnsent) {
		t.Errorf("a flush of a stopped process: %v", err)
	}
	if answerOf(m, stopped.pid()).At != last.At {
		t.Error("a report came from a stopped process")
	}
	if err := stopped.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it answers again", func() bool {
		a := answerOf(m, stopped.pid())
		return a.Err == nil && a.At.After(last.At)
	})
}

func TestSocketHeldByForkedChildIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	c := spawn(t, "fork", dir)
	_ = c.cmd.Wait()
	t.Cleanup(func() {
		if heir, err := strconv.Atoi(c.rest[0]); err == nil {
			_ = syscall.Kill(heir, syscall.SIGKILL)
		}
	})
	m := watch(t, dir)
	eventually(t, "the refusal is reported", func() bool {
		for _, p := range m.Problems() {
			if p.Path == c.socket {
				return strings.Contains(p.Err.Error(), "a child holds its socket")
			}
		}
		return false
	})
	if answers := m.Answers(); len(answers) != 0 {
		t.Errorf("there are answers: %+v", answers)
	}
}

func TestOneUserCannotUseUpTheProbeLimit(t *testing.T) {
	m := newMonitor(t.TempDir())
	for pid := range maxProbesPerUser {
		id := process.Identity{PID: pid + 1, StartTime: 1}
		m.byProcess[id.Key()] = newProbeProcess(id, 1000, time.Now())
	}
	if m.hasCapacity(1000) || !m.hasCapacity(1001) {
		t.Errorf("with %d probes of user 1000: capacity for user 1000 %v, for user 1001 %v",
			maxProbesPerUser, m.hasCapacity(1000), m.hasCapacity(1001))
	}
}

// panicOf returns the value with which a monitor's Run panics, nil if it does not.
func panicOf(t *testing.T, m *Monitor) any {
	t.Helper()
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		m.Run(soon(t))
	}()
	return <-panicked
}

func TestRunPanicsWhenASearchPanics(t *testing.T) {
	m := newMonitor(t.TempDir())
	m.finder.table = nil
	m.Listed("GPU-1", []int{os.Getpid()})
	if value := panicOf(t, m); value == nil || !strings.Contains(fmt.Sprint(value), "(*Finder).Open") {
		t.Errorf("Run panicked with %v, want the stack of the search", value)
	}
}

func TestPanicUnderTheLockIsHandedOn(t *testing.T) {
	dir := privateDirectory(t)
	m := newMonitor(dir)
	m.attempts[target{directory: dir, name: "no attempt"}] = nil
	m.mu.Lock()
	m.list(t.Context(), dir, func() uint32 { return m.finder.uid })
	m.mu.Unlock()
	select {
	case err := <-m.panics:
		if err == nil {
			t.Error("the panic has no message")
		}
	case <-time.After(testTimeout):
		t.Error("the panic is not handed on: the lock is still held")
	}
}

func TestRunPanicsWhenASessionPanics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	spawn(t, "serve", dir)
	m := newMonitor(dir)
	var calls atomic.Int32
	m.clock = func() time.Time {
		if calls.Add(1) > 1 {
			panic("no time")
		}
		return time.Now()
	}
	if value := panicOf(t, m); value == nil || !strings.Contains(fmt.Sprint(value), "no time") || !strings.Contains(fmt.Sprint(value), "(*session).ask") {
		t.Errorf("Run panicked with %v, want the stack of the session", value)
	}
}
