package sampler

import (
	"strings"
	"syscall"
	"testing"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// exits is a box that knows how its processes ended.
type exits struct {
	*box
	status map[int]syscall.WaitStatus
}

func (e exits) Exit(id process.Identity) (syscall.WaitStatus, bool) {
	status, known := e.status[id.PID]
	return status, known
}

// HostMemoryEnded is true for the processes from 105 on. The exit status of 105 is unknown.
func (e exits) HostMemoryEnded(id process.Identity) bool { return id.PID >= 105 }

// A killed process is no incident if it was asked to end, or if vramscope sent the signal.
func TestKilledProcessIsAnIncident(t *testing.T) {
	b := newBox(8)
	s := b.sampler()
	s.options.Processes = exits{b, map[int]syscall.WaitStatus{
		100: syscall.WaitStatus(syscall.SIGKILL), 101: syscall.WaitStatus(syscall.SIGKILL), 102: syscall.WaitStatus(syscall.SIGTERM), 103: 3 << 8, 104: 0,
		106: syscall.WaitStatus(syscall.SIGKILL), 107: 1 << 8,
	}}
	first := b.tick(s)
	for i := range first.Rows {
		if p := &first.Rows[i]; p.ID.Process.PID == 101 {
			s.History().Append(snapshot.Event{Time: b.now, Kind: snapshot.EventSignal, Row: p.ID, Message: "sent SIGKILL"})
		}
	}
	for uuid, r := range b.readings {
		r.Processes = nil
		b.readings[uuid] = r
	}
	clear(b.processes)
	b.tick(s)
	snap := b.tick(s)
	type end struct {
		message  string
		status   int
		known    bool
		incident bool
	}
	want := map[int]end{
		100: {"killed by SIGKILL, used", 137, true, true}, 101: {"killed by SIGKILL, used", 137, true, false}, 102: {"killed by SIGTERM, used", 143, true, false},
		103: {"exited with 3, used", 3, true, false}, 104: {"exited, used", 0, true, false}, 105: {"ended, its cgroup ran out of host memory, used", 0, false, true},
		106: {"killed: its cgroup ran out of host memory, used", 137, true, true}, 107: {"exited with 1, its cgroup ran out of host memory, used", 1, true, false},
	}
	for _, e := range s.History().Events(0) {
		if e.Kind != snapshot.EventEnded {
			continue
		}
		pid := e.Row.Process.PID
		incident, is := snapshot.IncidentOf(e)
		row := snap.EndedRow(e.Row)
		if w := want[pid]; row == nil || !strings.HasPrefix(e.Message, w.message) || row.ExitStatus.Known() != w.known || row.ExitStatus.Or(0) != w.status || is != w.incident {
			t.Errorf("PID %d: %q, row %+v, incident %v; want %+v", pid, e.Message, row, is, w)
		}
		if want := map[bool]string{false: "killed", true: "out of host memory"}[pid >= 105]; is && incident.Words != want {
			t.Errorf("PID %d: incident %q", pid, incident.Words)
		}
		delete(want, pid)
	}
	if len(want) > 0 {
		t.Errorf("no event of %v", want)
	}
}
