package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

func TestFlushEndsWhenItsSessionPanics(t *testing.T) {
	p := newProbeProcess(process.Identity{PID: 1, StartTime: 1}, 0, time.Now())
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		s := session{probe: p, interval: time.Hour} // without a client
		_ = s.wait(context.Background())
	}()
	done := make(chan flushed, 1)
	p.jobs <- job{ctx: context.Background(), request: FlushRequest{Level: Urgent}, done: done}
	select {
	case f := <-done:
		if !errors.Is(f.err, errClosed) {
			t.Errorf("the flush ends with %v, want %v", f.err, errClosed)
		}
	case <-time.After(testTimeout):
		t.Error("the flush does not end")
	}
	if <-panicked == nil {
		t.Error("the panic was lost")
	}
}

// A program that ends with an out-of-memory error sends its stats before it closes the
// connection: the next question would find no server.
func TestLastStatsAreRead(t *testing.T) {
	var questions atomic.Int32
	asked := make(chan struct{})
	dir := filepath.Join(t.TempDir(), "vramscope")
	impostor(t, dir, func(conn net.Conn) {
		if questions.Add(1) > 1 {
			return // a new connection
		}
		begin, _ := ownStart()
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			var r request
			if json.Unmarshal(lines.Bytes(), &r) != nil {
				return
			}
			if r.Cmd == cmdHello {
				_, _ = fmt.Fprintf(conn, `{"id":%d,"ok":true,"proto":"vramscope/1","pid":%d,"starttime":%d}`+"\n", *r.ID, os.Getpid(), begin)
				continue
			}
			now := time.Now().UnixNano()
			_, _ = fmt.Fprintf(conn, `{"id":%d,"ok":true,"time_ns":%d,"devices":[]}`+"\n", *r.ID, now)
			_, _ = fmt.Fprintf(conn, `{"id":null,"ok":true,"last":true,"time_ns":%d,"devices":[{"uuid":"GPU-1","allocators":[],`+
				`"out_of_memory":[{"time_ns":%d,"bytes":7},{"time_ns":%d,"bytes":5}]}]}`+"\n", now, now, now-1)
			close(asked)
			return
		}
	})
	m := newMonitor(dir)
	run(t, m)
	<-asked
	end := time.Now().Add(20 * time.Second)
	for {
		m.Ask()
		if a := answerOf(m, os.Getpid()); a != nil && len(a.Report.Devices) == 1 {
			failed := a.Report.Devices[0].OutOfMemory
			if len(failed) != 2 || failed[0].Bytes != 5 || failed[1].Bytes != 7 {
				t.Errorf("failed are %+v, want both, by their time", failed)
			}
			if p := (*m.published.Load())[0]; !p.final.Load() {
				t.Error("the report is not known to be the last")
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the last stats were not read: %+v", answerOf(m, os.Getpid()))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A sampler that reads once a minute gets the last report, too; any other report of a process that
// has exited is forgotten at once.
func TestLastReportOutlivesItsProcess(t *testing.T) {
	m := newMonitor(t.TempDir())
	for _, final := range []bool{false, true} {
		p := newProbeProcess(process.Identity{PID: 1 << 30, StartTime: 5}, 0, time.Now())
		p.final.Store(final)
		for _, c := range []struct {
			lost time.Duration
			kept bool
		}{{0, final}, {time.Minute, final}, {forgetTime + time.Second, false}} {
			p.lostAt = time.Now().Add(-c.lost)
			m.byProcess[p.process.Key()] = p
			m.publish()
			m.reap()
			if kept := answerOf(m, p.process.PID) != nil; kept != c.kept {
				t.Errorf("last report %v, %v after its connection: kept %v", final, c.lost, kept)
			}
		}
	}
}

func TestCheckKeepsTheNewestFailures(t *testing.T) {
	d := Device{}
	for i := range int64(40) {
		d.OutOfMemory = append(d.OutOfMemory, FailedAllocation{TimeNS: i + 1, Bytes: quantity.MiB})
	}
	if err := d.checkFailed(); err != nil || len(d.OutOfMemory) != maxFailed || d.OutOfMemory[maxFailed-1].TimeNS != 40 {
		t.Errorf("%v, %d remain, the last of %d", err, len(d.OutOfMemory), d.OutOfMemory[len(d.OutOfMemory)-1].TimeNS)
	}
}

// TestSettleWaitsForAllListed: there are more processes than are searched at a time, and no scans
// except those that the monitor starts itself.
func TestSettleWaitsForAllListed(t *testing.T) {
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, []string{filepath.Join(t.TempDir(), "vramscope")})
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
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, []string{t.TempDir()})
	id := process.Identity{PID: os.Getpid(), StartTime: 1}
	m.attemptOn(target{directory: "/d"}).left = []string{"7-1.sock", "8-1.sock", socketName(id.PID, 1)}
	m.listed["GPU-0"] = []int{7, id.PID}
	if n := m.Unasked(); n != 3 {
		t.Errorf("%d processes have not been asked, want 3", n)
	}
	p := newProbeProcess(id, 0, time.Now())
	m.byProcess[id.Key()] = p
	if n := m.Unasked(); n != 3 {
		t.Errorf("with a connection %d processes have not been asked, want 3", n)
	}
	p.answer.Store(&Answer{Process: id, At: time.Now()})
	if n := m.Unasked(); n != 2 {
		t.Errorf("after an answer %d processes have not been asked, want 2", n)
	}
}

// TestAskScans: Ask starts a scan, but not soon after another.
func TestAskScans(t *testing.T) {
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, []string{t.TempDir()})
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
