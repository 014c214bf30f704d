package process

import (
	"errors"
	"maps"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/kubelet"
	"vramscope/internal/quantity"
)

// Table looks processes up in /proc. It is safe for concurrent use. It reads the stat of a process
// once in each window (windowFor), and the facts when the process is new, when its name changes (an
// exec), and every refreshEvery.
type Table struct {
	// Timeout is how long a call waits for the facts of new processes. Facts that take longer come
	// with a later call. Set it before the first call.
	Timeout time.Duration
	// Hints includes importance and Distributed in the facts. Only a guard needs them, and they cost a
	// read of each thread's name. Set it before the first call.
	Hints bool

	root     string
	hostname string
	boot     func(now time.Time) time.Time
	users    *users
	slurm    *slurmJobs
	read     func(t *Table, pid int) facts
	owner    func(directory string) quantity.Optional[uint32]
	device   func(path, link string) (minor int, shared, ok bool) // deviceOf, except in tests

	namespace uint64             // pid namespace of this program; 0 if it is unknown
	isHidden  func(pid int) bool // isHidden; nil if root is not the kernel's /proc

	// slots limits the readers of facts. A reader that hangs keeps its slot; when
	// all hang, the facts of new processes stay unknown.
	slots   chan struct{}
	pending atomic.Int64 // readers, also those that wait for a slot

	mu      sync.Mutex
	buf     [statSize]byte
	entries map[int]*entry
	gone    map[int]*entry // processes that ended a moment ago

	exitsUnknown bool // this kernel does not tell how processes end

	bootAt time.Time // set by the first call
	host   Host      // the figures of the machine, read at hostAt
	hostAt time.Time
}

const (
	refreshEvery = time.Minute
	forgetAfter  = 10 * time.Second       // after the last call that asked for the process
	cpuWindow    = 900 * time.Millisecond // clock ticks are too coarse for less
	statWindow   = 900 * time.Millisecond // reading stat at ten samples a second would cost more than all the rest
	statsASecond = 16                     // reads of stat per second; with more processes, each is read less often
	maxStatAge   = 4 * time.Second        // the longest time between two reads of a stat
	maxStatReads = 256                    // reads of stat per second above which that time is exceeded
	timeout      = 20 * time.Millisecond
	maxReaders   = 16
)

// windowFor returns how long a reading of stat is used, given the number of processes.
func windowFor(processes int) time.Duration {
	n := time.Duration(processes) * time.Second
	return max(statWindow, max(min(n/statsASecond, maxStatAge), n/maxStatReads)-100*time.Millisecond)
}

// entry is the cache of one process.
type entry struct {
	info      Info
	statPath  string
	seen      time.Time // last asked for
	statAt    time.Time // when stat was read
	refreshed time.Time // facts last requested
	pending   <-chan facts
	awaited   bool      // this call found that the process or its program is new
	cpuAt     time.Time // when cpuTicks was read
	cpuTicks  uint64
	pidfd     *os.File // nil: how the process ends will not be known

	kills, killsBefore oomKills // of its cgroup: at the last reading of the facts, and at the one before
}

// NewTable returns a Table that reads the proc file system at root: "/proc", except in tests.
func NewTable(root string) *Table {
	hostname, _ := os.Hostname() // "" if unknown
	t := &Table{
		Timeout:  timeout,
		root:     root,
		hostname: hostname,
		boot:     bootTime,
		users:    newUsers("/etc/passwd"),
		slurm:    &slurmJobs{cgroups: "/sys/fs/cgroup", kubelet: kubelet.Socket, scontrol: askScontrol, numbers: make(map[string]string), answers: make(map[string]slurmAnswer), asked: make(map[string]time.Time)},
		read:     readFacts,
		owner:    effectiveUID,
		device:   deviceOf,
		slots:    make(chan struct{}, maxReaders),
		entries:  make(map[int]*entry),
		gone:     make(map[int]*entry),
	}
	var fs unix.Statfs_t
	if unix.Statfs(root, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC { // the kernel's
		t.namespace, t.isHidden = Namespace(root, "self"), isHidden
	}
	return t
}

// isHidden reports whether a pid that /proc does not show is a process of this pid namespace.
func isHidden(pid int) bool {
	if pid <= 0 || pid > math.MaxInt32 {
		return false // kill(2) takes a negative pid for a process group
	}
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// directory returns a process's directory in /proc. filepath.Join would clean the path each time.
func (t *Table) directory(pid int) string { return t.root + "/" + strconv.Itoa(pid) }

// Processes looks up pids and calls found for each that is in this /proc or is hidden
// in it. The Info is valid until found returns. Files that hang delay a call by Timeout.
func (t *Table) Processes(now time.Time, pids []int, found func(*Info)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	began := time.Now()
	if t.bootAt.IsZero() {
		t.bootAt = t.boot(now)
	}
	seen := make([]*entry, 0, len(pids))
	window := windowFor(len(pids))
	var stale []*entry
	hidden := Info{Identity: Identity{Namespace: t.namespace}}
	for _, pid := range pids {
		e, err := t.look(now, pid, window)
		if e == nil {
			if t.isHidden != nil && !noDescriptor(err) && t.isHidden(pid) {
				hidden.Identity.PID = pid
				found(&hidden)
			}
			continue
		}
		seen = append(seen, e)
		if e.pending != nil || e.awaited || now.Sub(e.refreshed) >= refreshEvery {
			stale = append(stale, e)
		}
	}
	t.refresh(now, stale, max(t.Timeout-time.Since(began), t.Timeout/4))
	for _, e := range seen {
		if uid, ok := e.info.UID.Value(); ok {
			e.info.User, e.info.Hints.UserUnread = t.users.name(uid)
		}
		e.info.Job = t.slurm.named(e.info.Job)
		found(&e.info)
	}
	for _, e := range t.entries {
		if now.Sub(e.seen) > forgetAfter {
			delete(t.entries, e.info.Identity.PID)
		}
	}
	maps.DeleteFunc(t.gone, func(_ int, e *entry) bool { return now.Sub(e.seen) > forgetAfter })
}

// look reads the stat of a process, at most once in a window. Within a window it assumes that the
// pid is still that process's. It fails for a pid without a process.
func (t *Table) look(now time.Time, pid int, window time.Duration) (*entry, error) {
	if pid <= 0 || pid > math.MaxInt32 {
		return nil, ErrExited
	}
	e := t.entries[pid]
	if e != nil {
		if !e.info.CPU.Known() {
			window = statWindow // CPU needs two readings
		}
		if since := now.Sub(e.statAt); since >= 0 && since < window {
			e.seen = now
			return e, nil
		}
	}
	var path string
	if e != nil {
		path = e.statPath
		t.hold(e, pid)
	} else {
		path = t.directory(pid) + "/stat"
	}
	s, err := readStat(path, t.buf[:])
	if e != nil && noDescriptor(err) {
		e.seen = now // too many files are open here: the process may well be alive
		return e, nil
	}
	if e != nil && (err != nil || e.info.Identity.StartTime != s.start) {
		t.gone[pid] = e
	}
	if err != nil {
		delete(t.entries, pid)
		return nil, err
	}
	if e == nil || e.info.Identity.StartTime != s.start {
		e = &entry{statPath: path}
		e.info.Identity = Identity{PID: pid, StartTime: s.start, Namespace: Namespace(t.root, strconv.Itoa(pid))}
		e.info.Started = t.bootAt.Add(SinceBoot(s.start))
		t.entries[pid] = e
	}
	if e.info.Name != string(s.comm) {
		e.info.Name = string(s.comm)
		e.awaited = true
	}
	e.seen, e.statAt = now, now
	e.info.Parent, e.info.Ended = s.parent, s.ended
	e.info.Memory = quantity.From(quantity.Bytes(s.resident)*quantity.Bytes(os.Getpagesize()), quantity.System)
	e.measureCPU(now, s.ticks)
	return e, nil
}

// noDescriptor reports whether a file could not be opened because too many files are open.
func noDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// measureCPU converts clock ticks to per cent of one core, at most once in cpuWindow.
func (e *entry) measureCPU(now time.Time, ticks uint64) {
	elapsed := now.Sub(e.cpuAt)
	switch {
	case e.cpuAt.IsZero() || elapsed < 0 || ticks < e.cpuTicks:
		e.info.CPU = quantity.Unknown[float64]()
	case elapsed < cpuWindow:
		return
	default:
		seconds := float64(ticks-e.cpuTicks) / ticksPerSecond
		e.info.CPU = quantity.From(100*seconds/elapsed.Seconds(), quantity.System)
	}
	e.cpuAt, e.cpuTicks = now, ticks
}

// bootTime returns when the machine booted, by the clock that counts start times. /proc/stat takes
// milliseconds on a machine with hundreds of cores, and has the container's start under lxcfs.
func bootTime(now time.Time) time.Time {
	var sinceBoot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot); err != nil {
		return time.Time{}
	}
	return now.Add(-time.Duration(sinceBoot.Nano()))
}
