package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// recordLine is the record that a probe leaves beside the sockets when its program exits soon after
// an out-of-memory error. A short-lived program may exit before a monitor has found its probe.
type recordLine struct {
	reply
	Hello
	Report
	Command []string `json:"command"`
}

// recordTime is the age at which a monitor removes a record. The slowest sampler has read it by then.
const recordTime = forgetTime

// record reads the record of a process that had this socket. Any program of the directory's owner
// can have written it.
func (f *Finder) record(dir *directory, name, socket string, now time.Time) (*probeProcess, error) {
	path := filepath.Join(dir.path, name)
	line, err := readRecord(dir, name, now)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	pid, start, _ := parseSocketName(socket)
	if start > process.Ticks() {
		return nil, fmt.Errorf("%s: that process has not started yet: refused", path)
	}
	if now, err := f.table.Identify(pid); err == nil && now.StartTime == start {
		if who, err := ownerOf(f.proc, pid); err != nil || who.uid != dir.uid {
			return nil, fmt.Errorf("%s: PID %d is another user's: refused", path, pid)
		}
	}
	err = line.Hello.check(pid, start)
	if err == nil {
		err = line.Report.check()
	}
	if err == nil {
		err = line.checkTimes(now, start)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	id := process.Identity{PID: pid, StartTime: start}
	if own, err := f.table.Identify(os.Getpid()); err == nil {
		id.Namespace = own.Namespace
	}
	p := newProbeProcess(id, dir.uid, now)
	p.answer.Store(&Answer{
		Process: id, Hello: line.Hello, Report: line.Report, Since: now, At: readAt(now, line.TimeNS), Arrived: now,
		Exited: &process.Info{
			Identity: id, UID: quantity.From(dir.uid, quantity.Probe), User: f.table.UserName(dir.uid), Command: clipAll(line.Command, maxWords),
		},
	})
	p.final.Store(true)
	p.lostAt = time.Now()
	return p, nil
}

var errOldRecord = errors.New("it is old: removed")

const maxWords = 32 // of a record's command line

// readRecord reads a record, which must be a regular file of the directory's owner. It removes an
// old record, and returns errOldRecord.
func readRecord(dir *directory, name string, now time.Time) (*recordLine, error) {
	fd, err := unix.Openat(int(dir.file.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }()
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return nil, err
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != dir.uid:
		return nil, fmt.Errorf("it is no file of user %d: refused", dir.uid)
	case now.Sub(time.Unix(st.Mtim.Unix())) > recordTime:
		return nil, cmp.Or(dir.remove(name), errOldRecord)
	}
	content, err := bounded.First(file, MaxLine)
	if err != nil {
		return nil, err
	}
	line := &recordLine{}
	return line, decode(content, line)
}

// recorded keeps a record, unless the monitor has answers of its process, or too many records or
// probes. The lock is held.
func (m *Monitor) recorded(a *attempt, p *probeProcess, err error) {
	if a.fail(err, recordTime); p == nil {
		return
	}
	a.notBefore = time.Now().Add(recordTime) // readRecord removes it then
	records, hello := 0, &p.answer.Load().Hello
	for key, known := range m.byProcess {
		answer := known.answer.Load()
		same := key == p.process.Key()
		if answer.Exited != nil && known.uid == p.uid {
			records++
		}
		if known.uid == p.uid { // in a container the process has another pid
			same = same || answer.Hello.PID == hello.PID && answer.Hello.StartTime == hello.StartTime
		}
		if same && (known.ended != nil || known.final.Load()) {
			return
		}
	}
	if records >= maxRecords || !m.hasCapacity(p.uid) {
		return
	}
	m.byProcess[p.process.Key()] = p
	m.publish()
}
