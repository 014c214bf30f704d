package process

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrExited says that there is no such process, or that another has its pid.
var ErrExited = errors.New("no such process")

// lookTimeout is how long Look and Environment wait for the kernel, and Look for the directory service.
const lookTimeout = 500 * time.Millisecond

// Look reads one process without the table's cache. CPU is unknown: it needs two readings.
func (t *Table) Look(pid int) (Info, error) {
	fresh := &Table{
		Timeout: max(t.Timeout, lookTimeout),
		root:    t.root, hostname: t.hostname, boot: t.boot, users: t.users, slurm: t.slurm, read: t.read, owner: t.owner,
		slots:   make(chan struct{}, 1),
		entries: make(map[int]*entry, 1),
	}
	var info Info
	fresh.Processes(time.Now(), []int{pid}, func(found *Info) { info = *found })
	if info.Identity.PID != pid {
		return Info{}, fmt.Errorf("process: PID %d: %w", pid, ErrExited)
	}
	return info, nil
}

// Identify reads which process has a pid now.
func (t *Table) Identify(pid int) (Identity, error) {
	var buf [statSize]byte
	s, err := readStat(t.directory(pid)+"/stat", buf[:])
	if err != nil {
		return Identity{}, fmt.Errorf("process: PID %d: %w", pid, ErrExited)
	}
	return Identity{PID: pid, StartTime: s.start, Namespace: Namespace(t.root, strconv.Itoa(pid))}, nil
}

// Alive reports, without the table's cache, whether the process exists now and is not a zombie.
func (t *Table) Alive(id Identity) bool {
	var buf [statSize]byte
	s, err := readStat(t.directory(id.PID)+"/stat", buf[:])
	return err == nil && s.start == id.StartTime && !s.ended
}
