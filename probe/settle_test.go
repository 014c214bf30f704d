package probe

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"vramscope/internal/process"
)

// TestSettleWaitsForAllListed: more processes than are searched for at a time, and
// no scan but those that the monitor starts itself.
func TestSettleWaitsForAllListed(t *testing.T) {
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{Directories: []string{filepath.Join(t.TempDir(), "vramscope")}})
	m.scanInterval = time.Hour
	var pids []int
	for i := range 5 * maxSearches {
		pids = append(pids, 4_200_001+i) // none of this machine's
	}
	m.Listed("GPU-0", pids)
	if n := m.Unasked(); n != len(pids) {
		t.Errorf("before the first scan %d processes have not been asked, want %d", n, len(pids))
	}
	run(t, m)
	m.Settle(soon(t))
	if n := m.Unasked(); n != 0 {
		t.Errorf("%d of %d processes have not been asked", n, len(pids))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pid := range pids {
		if a := m.attempts[target{pid: pid}]; a == nil || a.err == nil {
			t.Fatalf("PID %d was not looked at: %+v", pid, a)
		}
	}
}

// TestUnaskedCountsProcessesOnce: a process may be known by its pid, by its socket
// and by its connection.
func TestUnaskedCountsProcessesOnce(t *testing.T) {
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{Directories: []string{t.TempDir()}})
	id := process.Identity{PID: os.Getpid(), StartTime: 1}
	m.attemptOn(target{directory: "/d"}).left = []string{"7-1.sock", "8-1.sock", socketName(id.PID, 1)}
	m.listed["GPU-0"] = []int{7, id.PID}
	if n := m.Unasked(); n != 3 {
		t.Errorf("%d processes have not been asked, want 3", n)
	}
	p := newProbeProcess(id, 0, time.Now())
	m.byProcess[keyOf(id)] = p
	if n := m.Unasked(); n != 3 {
		t.Errorf("with a connection %d processes have not been asked, want 3", n)
	}
	p.answer.Store(&Answer{Process: id, At: time.Now()})
	if n := m.Unasked(); n != 2 {
		t.Errorf("after an answer %d processes have not been asked, want 2", n)
	}
}

// TestAskScans: a monitor whose caller asks has no clock of its own.
func TestAskScans(t *testing.T) {
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{Directories: []string{t.TempDir()}})
	m.scanInterval = time.Hour
	run(t, m)
	m.Settle(soon(t))
	m.Ask()
	if len(m.wake) > 0 {
		t.Error("a scan follows another at once")
	}
	m.scanned.Store(0)
	m.Ask()
	eventually(t, "another scan", func() bool { return m.scanned.Load() != 0 })
}
