package probe

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// listings remember the names in directories for temporary files until these
// change: each process without a probe is searched for there, and anybody can fill
// one with names.
type listings struct {
	mu    sync.Mutex
	known map[place]names
}

type place struct{ device, inode uint64 }

// names are those that begin as this program's directories do.
type names struct {
	changed time.Time // when the directory was, by its file system
	found   []string
	listed  time.Time
}

const (
	// A directory that changes all the time is listed so often: a thousand processes
	// are searched for one after the other. What is missed is found by the next search.
	listInterval  = time.Second
	maxListings   = 256  // containers each have one
	maxRemembered = 1024 // names of one: anybody can make more
)

// in lists the names in a directory that begin with directoryName and a dash.
func (l *listings) in(dir *os.File) []string {
	var st unix.Stat_t
	if unix.Fstat(int(dir.Fd()), &st) != nil {
		return nil
	}
	at, changed := place{st.Dev, st.Ino}, time.Unix(st.Ctim.Unix())
	l.mu.Lock()
	known, ok := l.known[at]
	l.mu.Unlock()
	now := time.Now()
	// One that had changed just before it was listed may have changed again at the same time.
	settled := known.changed.Equal(changed) && known.listed.Sub(changed) > listInterval
	if ok && (settled || now.Sub(known.listed) < listInterval) {
		return known.found
	}
	found := namesWith(dir, directoryName+"-")
	if len(found) <= maxRemembered {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.known == nil || len(l.known) >= maxListings {
			l.known = make(map[place]names)
		}
		l.known[at] = names{changed, found, now}
	}
	return found
}
