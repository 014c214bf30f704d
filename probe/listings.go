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
}

const (
	// A directory that has changed so lately may change again without another time.
	settledAfter  = 2 * time.Second
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
	if ok && known.changed.Equal(changed) {
		return known.found
	}
	found := namesWith(dir, directoryName+"-")
	if age := time.Since(changed); age > settledAfter && len(found) <= maxRemembered {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.known == nil || len(l.known) >= maxListings {
			l.known = make(map[place]names)
		}
		l.known[at] = names{changed, found}
	}
	return found
}
