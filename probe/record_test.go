//go:build linux

package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
)

// recordsIn makes a directory of sockets with a record of this name and content. It returns a Finder
// to read the record, the directory, and the record's path.
func recordsIn(t *testing.T, name, content string) (*Finder, *directory, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), directoryName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := openDirectory(path, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.close)
	return NewFinder(process.NewTable("/proc")), dir, file
}

// gone returns a pid that no process has. The start time is this process's, so that the times of a
// record can be true.
func gone(t *testing.T) (pid int, start uint64) {
	t.Helper()
	start, err := ownStart()
	if err != nil {
		t.Fatal(err)
	}
	return 1 << 29, start
}

func recordOf(pid int, start uint64, at time.Time) string {
	return fmt.Sprintf(`{"id":null,"ok":true,"last":true,"command":["python3","train.py"],"proto":"vramscope/1","pid":%d,"starttime":%d,`+
		`"time_ns":%d,"devices":[{"uuid":"GPU-1","allocators":[],"out_of_memory":[{"time_ns":%[3]d,"bytes":7}]}]}`+"\n", pid, start, at.UnixNano())
}

func TestRecordOfAnExitedProgramIsRead(t *testing.T) {
	pid, start := gone(t)
	name := strings.TrimSuffix(socketName(pid, start), socketSuffix) + recordSuffix
	_, dir, _ := recordsIn(t, name, recordOf(pid, start, time.Now()))
	m := newMonitor(dir.path)
	run(t, m)
	end := time.Now().Add(20 * time.Second)
	for answerOf(m, pid) == nil {
		if time.Now().After(end) {
			t.Fatalf("the record was not read: %v", m.Problems())
		}
		m.Ask()
		time.Sleep(5 * time.Millisecond)
	}
	a := answerOf(m, pid)
	if a.Exited == nil || a.Exited.UID.Or(1<<31) != uint32(os.Geteuid()) || strings.Join(a.Exited.Command, " ") != "python3 train.py" {
		t.Errorf("its process is %+v", a.Exited)
	}
	if len(a.Report.Devices) != 1 || len(a.Report.Devices[0].OutOfMemory) != 1 {
		t.Errorf("its report is %+v", a.Report)
	}
	if relayed := Relay([]Answer{*a}); len(relayed) != 0 {
		t.Errorf("it is passed on as a probe that answers: %+v", relayed)
	}
}

func TestRecordsThatCannotBeAreRefused(t *testing.T) {
	pid, start := gone(t)
	name := strings.TrimSuffix(socketName(pid, start), socketSuffix) + recordSuffix
	now := time.Now()
	whole := recordOf(pid, start, now)
	for what, content := range map[string]string{
		"another pid":        recordOf(pid+1, start, now),
		"another start time": recordOf(pid, start+1, now),
		"the future":         recordOf(pid, start, now.Add(time.Hour)),
		"before its start":   recordOf(pid, start, now.Add(-1000*time.Hour)),
		"no JSON":            "out of memory",
		"nothing":            "",
		"too long":           `{"command":["` + strings.Repeat("x", 2*MaxLine) + `"]}`,
		"too many members":   `{"devices":[` + strings.Repeat("0,", maxMembers+1) + `0]}`,
		"another version":    strings.Replace(whole, "vramscope/1", "vramscope/9", 1),
	} {
		f, dir, _ := recordsIn(t, name, content)
		if p, err := f.record(dir, name, socketName(pid, start), now); err == nil {
			t.Errorf("%s: read as %+v", what, p.answer.Load())
		}
	}

	f, dir, path := recordsIn(t, name, whole)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for what, make := range map[string]func() error{
		"a link":      func() error { return os.Symlink("/proc/self/status", path) },
		"a directory": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.record(dir, name, socketName(pid, start), now); err == nil {
			t.Errorf("%s is read", what)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// The owner of a directory may claim anything about its own processes, and nothing about another
// user's running ones.
func TestRecordOfAnotherUsersProcessIsRefused(t *testing.T) {
	pid := 1 // root's process; if this test runs as root, the directory is root's, too, until dir.uid is set
	init, err := process.NewTable("/proc").Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	start := init.StartTime
	name := strings.TrimSuffix(socketName(pid, start), socketSuffix) + recordSuffix
	f, dir, path := recordsIn(t, name, recordOf(pid, start, time.Now()))
	if os.Geteuid() != 0 {
		if _, err := f.record(dir, name, socketName(pid, start), time.Now()); err == nil || !strings.Contains(err.Error(), "another user's") {
			t.Errorf("a record of root's process: %v", err)
		}
		return
	}
	if _, err := f.record(dir, name, socketName(pid, start), time.Now()); err != nil {
		t.Errorf("a record of one's own process: %v", err)
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	dir.uid = 12345
	if _, err := f.record(dir, name, socketName(pid, start), time.Now()); err == nil || !strings.Contains(err.Error(), "another user's") {
		t.Errorf("a record of root's process: %v", err)
	}
}

func TestOldRecordIsRemoved(t *testing.T) {
	pid, start := gone(t)
	name := strings.TrimSuffix(socketName(pid, start), socketSuffix) + recordSuffix
	f, dir, path := recordsIn(t, name, recordOf(pid, start, time.Now()))
	if _, err := f.record(dir, name, socketName(pid, start), time.Now().Add(recordTime+time.Second)); !ordinary(err) {
		t.Errorf("an old record is a problem: %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// A record of a process that is still to start would take the place of its probe.
func TestRecordOfAProcessToComeIsRefused(t *testing.T) {
	pid, _ := gone(t)
	for _, start := range []uint64{process.Ticks() + 500, 1 << 63} {
		name := strings.TrimSuffix(socketName(pid, start), socketSuffix) + recordSuffix
		now := time.Now().Add(9 * time.Second)
		f, dir, _ := recordsIn(t, name, recordOf(pid, start, now))
		if p, err := f.record(dir, name, socketName(pid, start), now); err == nil {
			t.Errorf("start %d: read as %+v", start, p.answer.Load())
		}
	}
}

// One user's records are limited, so that they leave room for sockets and probes.
func TestRecordsOfOneUserAreLimited(t *testing.T) {
	pid, start := gone(t)
	name := func(i int) string { return strings.TrimSuffix(socketName(pid+i, start), socketSuffix) + recordSuffix }
	_, dir, _ := recordsIn(t, name(0), recordOf(pid, start, time.Now()))
	for i := range 2 * maxRecords {
		if err := os.WriteFile(filepath.Join(dir.path, name(i)), []byte(recordOf(pid+i, start, time.Now())), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := dir.sockets()
	if err != nil || len(found) != maxRecords {
		t.Errorf("%d records are listed, %v", len(found), err)
	}
	m := newMonitor(dir.path)
	for i := range 2 * maxRecords {
		id := process.Identity{PID: pid + i, StartTime: start}
		p := newProbeProcess(id, dir.uid, time.Now())
		p.answer.Store(&Answer{Process: id, Hello: Hello{PID: id.PID, StartTime: start}, Exited: &process.Info{Identity: id}})
		p.final.Store(true)
		m.locked(func() { m.recorded(&attempt{}, p, nil) })
	}
	if n := len(m.Answers()); n != maxRecords {
		t.Errorf("%d records of one user are kept", n)
	}
}

// A program in a container knows only its own pid there. Its record is about a process that the
// monitor knows by another pid from a connection.
func TestRecordOfAKnownProcessInAContainerIsLeft(t *testing.T) {
	m := newMonitor(t.TempDir())
	known := newProbeProcess(process.Identity{PID: 4711, StartTime: 5, Namespace: 9}, 1000, time.Now())
	known.answer.Store(&Answer{Process: known.process, Hello: Hello{PID: 7, StartTime: 5}})
	known.final.Store(true)
	known.lostAt = time.Now()
	m.byProcess[known.process.Key()] = known
	record := func(uid uint32) *probeProcess {
		id := process.Identity{PID: 7, StartTime: 5}
		p := newProbeProcess(id, uid, time.Now())
		p.answer.Store(&Answer{Process: id, Hello: Hello{PID: 7, StartTime: 5}, Exited: &process.Info{Identity: id}})
		p.final.Store(true)
		return p
	}
	m.locked(func() { m.recorded(&attempt{}, record(1000), nil) })
	if n := len(m.byProcess); n != 1 {
		t.Errorf("%d processes for one", n)
	}
	m.locked(func() { m.recorded(&attempt{}, record(1001), nil) })
	if n := len(m.byProcess); n != 2 {
		t.Error("one user's process keeps another's record away")
	}
}
