package probe

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// listing is what a directory of sockets contained when it was last read. An unchanged directory is
// read again only after relistTime, because it may contain many names.
type listing struct {
	stamp stamp
	at    time.Time
	names []string
}

// stamp identifies a directory and its state.
type stamp struct {
	place
	changed, modified time.Time // by the file system's clock
}

type place struct{ device, inode uint64 }

func stampOf(st *unix.Stat_t) stamp {
	return stamp{place{st.Dev, st.Ino}, time.Unix(st.Ctim.Unix()), time.Unix(st.Mtim.Unix())}
}

const (
	// A name added this soon after another may leave the stamp as it is: file
	// systems record time in steps of up to 2 s.
	stampPrecision = 3 * time.Second
	// Some network file systems report changes late, or not at all.
	relistTime = 30 * time.Second
)

func (l listing) current(now stamp) bool {
	return l.stamp == now && l.at.Sub(now.changed) > stampPrecision && time.Since(l.at) < relistTime
}

// refresh returns the listing of a directory. It reads the directory unless l is still current.
func (l listing) refresh(dir *directory) (listing, error) {
	if l.current(dir.stamp) {
		return l, nil
	}
	fresh := listing{stamp: dir.stamp, at: time.Now()}
	var err error
	if fresh.names, err = dir.sockets(); err != nil {
		fresh.stamp = stamp{} // the next refresh reads the directory again
	}
	return fresh, err
}

// listings remembers the names in temporary directories. Each listed process may be searched for a
// probe there, and anybody can fill such a directory with names.
type listings struct {
	mu    sync.Mutex
	known map[place]listing // only names that begin as this program's directories do
}

const (
	// A directory whose names are remembered is listed at most this often. A later search finds the
	// names that an earlier one has missed.
	listInterval  = time.Second
	maxListings   = 256  // each container has a directory of its own
	maxRemembered = 1024 // names of one directory; a longer list is not remembered
)

// in lists the names in a directory that begin with directoryName and a dash.
func (l *listings) in(dir *os.File) []string {
	var st unix.Stat_t
	if unix.Fstat(int(dir.Fd()), &st) != nil {
		return nil
	}
	now := stampOf(&st)
	l.mu.Lock()
	known, ok := l.known[now.place]
	l.mu.Unlock()
	if ok && (known.current(now) || time.Since(known.at) < listInterval) {
		return known.names
	}
	fresh := listing{stamp: now, at: time.Now(), names: namesWith(dir, directoryName+"-")}
	if len(fresh.names) <= maxRemembered {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.known == nil || len(l.known) >= maxListings {
			l.known = make(map[place]listing)
		}
		l.known[now.place] = fresh
	}
	return fresh.names
}
