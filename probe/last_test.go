//go:build linux

package probe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

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
		begin, _ := startTime(procfs.Self())
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

// A sampler that reads once a minute gets the last report, too; another report of a
// process that has exited is forgotten at once.
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
			m.byProcess[keyOf(p.process)] = p
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
