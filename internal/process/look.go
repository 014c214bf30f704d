package process

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// ErrGone says that there is no such process, or not the same one any more.
var ErrGone = errors.New("no such process")

// lookTimeout is how long a look at one process waits for what the kernel and
// the directory service say of it.
const lookTimeout = 500 * time.Millisecond

// Look reads one process afresh, past everything that the table remembers.
// CPU is unknown: it takes two looks.
func (t *Table) Look(pid int) (Info, error) {
	fresh := &Table{
		Timeout: max(t.Timeout, lookTimeout),
		root:    t.root, hostname: t.hostname, boot: t.boot, users: t.users, read: t.read,
		slots:   make(chan struct{}, 1),
		entries: make(map[int]*entry, 1),
	}
	info, ok := fresh.Processes(time.Now(), []int{pid})[pid]
	if !ok {
		return Info{}, fmt.Errorf("process: PID %d: %w", pid, ErrGone)
	}
	return info, nil
}

// Identify reads who has a pid now.
func (t *Table) Identify(pid int) (Identity, error) {
	var buf [statSize]byte
	s, err := readStat(filepath.Join(t.root, strconv.Itoa(pid), "stat"), buf[:])
	if err != nil {
		return Identity{}, fmt.Errorf("process: PID %d: %w", pid, ErrGone)
	}
	return Identity{PID: pid, StartTime: s.start, Namespace: namespaceOf(t.root, pid)}, nil
}

// Alive reports whether the process is there at this moment, however lately
// it was looked up.
func (t *Table) Alive(id Identity) bool {
	var buf [statSize]byte
	s, err := readStat(filepath.Join(t.root, strconv.Itoa(id.PID), "stat"), buf[:])
	return err == nil && s.start == id.StartTime && !s.ended
}
